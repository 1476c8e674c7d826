"""Training of the weights in the package: run from a clone, not in the wheel.

    python -m weights.regression walker walker.json
    python -m weights.imitation.trainer --data DATA --out OUT

``weights.sft`` fine-tunes models of other sizes on the same examples by TRL.
"""
