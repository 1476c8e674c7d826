"""TEACh's tasks: definitions, what they ask of a house, and what each actor is told.

definitions   TEACh's task definitions and types; the same tasks in our own notation
compiling     a definition with its parameters as goals in a scene
planning      goals as orders: which mug, which sink, what comes first
props         what houses lack for these tasks, and the state they start in
drawing       parameters that fit a house; the task and the places of things in words
episodes      episodes of a commander and a follower, generated or in iTHOR's rooms
"""
