"""The strategies of language agents as one family over every world.

recipe        what an answer is made of: labelled sections, read from one text
legal         an action in text, and which one on the menu it is
reading       an answer as a model wrote it -> sections and one action, or a rejection
schema        the same as a JSON schema, for constrained decoding
stated        what an answer says about place, heading and hands
rules         the system message: task, actions and form, whatever the world
examples      solved training episodes as turns of the conversation
conversation  a chat that only grows, and loses whole steps when it must
strategy      the agent that puts them together
reflecting    one that reflects on a failed trial, and tries again
"""
