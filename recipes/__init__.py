"""Training of the weights in the package: run from a clone, not in the wheel.

    python -m recipes.language run houses runs/houses     # walker, velma and act: small networks
    python -m recipes.imitation.trainer --data DATA --out OUT

``recipes.sft`` fine-tunes models of other sizes on the same examples by TRL.
"""
