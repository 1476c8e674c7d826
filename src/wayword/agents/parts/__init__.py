"""What several agents share.

asking             prompt texts, and several questions to a model at once
answers, reading, legal
                   from a model's answer to one legal action, or a rejection
conversation       a chat that only grows, within a token budget
strategy           act, ReAct and Reflexion in any world: with examples, reflecting
planned            the oracles that walk a plan
searcher           exploring agents: with costmap, approach, listing
discussion         DiscussNav's experts: with directions, deciding
commander follower partner
                   scripted actors that work together: with commands, partner_knowledge,
                   sentences
person             a person at the keyboard
"""
