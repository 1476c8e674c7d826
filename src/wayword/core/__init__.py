"""The nouns of Wayword, and the loop that moves them.

Read in this order; it takes ten minutes:

    episode     Episode (what an agent may know) and Reference (what only judges may)
    action      Action, and the ActionSpace of those that are legal now
    world       World, Observation, Feedback: state and rules, one actor at a time
    decision    Decision, or Rejection: what an agent's answer amounted to
    model       Model: complete and choose
    perceiver   Perceiver: a place in, words and sightings out
    agent       Agent, Oracle and the Toolkit they are handed
    trajectory  Trajectory: the whole truth of one episode
    dataset     Dataset: episodes, references and the worlds they need
    rollout     one episode: world + agents -> trajectory
    run         many episodes at once
    registry    parts found by their file's name

Only the standard library and numpy are used here, and nothing touches the network.
"""
