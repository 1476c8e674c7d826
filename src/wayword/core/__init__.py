"""Base classes and data types of Wayword, and the episode loop. Suggested reading order:

    episode     Episode (all that an agent may know) and Reference (the answer, for scoring)
    action      Action; ActionSpace, the actions that are legal now; Decision and Rejection, the
                two results of parsing an agent's answer
    world       World, Observation, Feedback: state and rules, one actor at a time; Family: a kind
                of world, and its parts in every layer
    model       Model: complete and choose
    perceiver   Perceiver: descriptions of places, views and pictures
    agent       Agent, and its Toolkit
    trajectory  Trajectory: the full record of one episode
    dataset     Dataset: episodes, references, the worlds they need, and solutions computed from
                the references
    game        Game: one episode in a world, stepped turn by turn; plans
    recording   recording of an episode, and replay of recorded turns
    rollout     playing episodes: world + agents -> trajectory, many concurrently
    metric      Metric: name, unit and better direction of a score
    registry    parts by name, found by their file's name

Also here: errors, files (readers with precise errors), geometry, loopback, secrets.

This package uses only the standard library and numpy, and never touches the network.
"""
