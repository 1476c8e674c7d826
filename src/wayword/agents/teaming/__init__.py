"""Roles of scripted actors that work together by talking; ``agents/team.py`` gives them out.

brief      what a role is told before it starts
speech     the fixed sentences they say to each other, rendered and parsed
knowledge  what one actor has seen and been told
wants      the goals as one reads them: what counts, where it goes, how many
partner    one of several equals: finds, tells, claims, brings
commands   what a commander and a follower say to each other, rendered and parsed
commander  knows the task and the house: reads out a plan, answers where things are
follower   does what it is told, by what it sees and hears
"""
