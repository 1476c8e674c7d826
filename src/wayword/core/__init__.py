"""The nouns of Wayword, and the loop that moves them.

Read in this order; it takes ten minutes:

    episode     Episode (what an agent may know) and Reference (what only judges may)
    action      Action; ActionSpace, the actions that are legal now; Decision and Rejection, the
                two results of parsing an agent's answer
    world       World, Observation, Feedback: state and rules, one actor at a time; Family: a kind
                of world, and its parts in every layer
    model       Model: complete and choose
    perceiver   Perceiver: a place in, words and sightings out
    agent       Agent, and the Toolkit that it may use
    trajectory  Trajectory: the full record of one episode
    dataset     Dataset: episodes, references, the worlds they need, and solutions computed from
                the references
    game        one episode in a world, stepped turn by turn; plans
    recording   recording of an episode, and replay of recorded turns
    rollout     one episode: world + agents -> trajectory; and many at once
    metric      Metric: name, unit and better direction of a score
    registry    parts found by their file's name

Also here: errors, files (readers with precise errors), geometry, loopback, secrets.

This package uses only the standard library and numpy, and never touches the network.
"""
