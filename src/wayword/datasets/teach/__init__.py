"""TEACh's tasks: definitions, what they ask of a house, and who is told what.

Read in this order:

    definitions   TEACh's task definitions, read from its files
    tasks         ... the same in this library's own notation, for generated homes
    kinds         AI2-THOR's types and TEACh's classes as types of the rooms world
    serving       goal conditions: dishes, and what is on them
    compiling     a definition with its parameters as goals in a scene
    planning      goals as orders: which mug, which sink, what comes first
    props         what houses lack for these tasks, and the state they start in
    drawing       parameters that fit a house
    telling       the task and the places of things in words
    pairs         episodes of a commander and a follower
    floors        TEACh's lists of iTHOR scenes
"""
