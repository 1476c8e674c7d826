"""The nouns of Wayword, and the loop that moves them.

Read in this order; it takes ten minutes:

    episode     Episode (what an agent may know) and Reference (what only judges may)
    action      Action, the ActionSpace of those that are legal now, and what an agent's answer
                amounted to: a Decision or a Rejection
    world       World, Observation, Feedback: state and rules, one actor at a time; Family: a kind
                of world, and what belongs to it in every layer
    model       Model: complete and choose
    perceiver   Perceiver: a place in, words and sightings out
    agent       Agent, and the Toolkit that it may use
    trajectory  Trajectory: the whole truth of one episode
    dataset     Dataset: episodes, references, the worlds they need, and how tasks are solved by
                one who knows the answers
    game        one episode in a world, stepped turn by turn; plans
    recording   what an episode records, and recorded turns taken again
    rollout     one episode: world + agents -> trajectory; and many at once
    metric      Metric: what a score is called and which way is better
    registry    parts found by their file's name

Also here: errors, files (readers that name what is wrong), geometry, loopback, secrets.

Only the standard library and numpy are used here, and nothing touches the network.
"""
