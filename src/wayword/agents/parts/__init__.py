"""What several agents share.

prompting          prompt texts, questions at once, chats that only grow within a token budget
answers, reading, legal
                   from a model's answer to one legal action, or a rejection
strategy           act, ReAct and Reflexion in any world: with examples, reflecting
searcher           exploring agents: with costmap, approach, listing
discussion         DiscussNav's experts: with directions, deciding
commander follower partner
                   scripted actors that work together: with commands, partner_knowledge,
                   sentences
person             a person at the keyboard
"""
