"""Two runs episode by episode: does walking on help a random walker?"""

import wayword

short, long = (
    wayword.run(
        "random",
        "houses",
        settings={"steps": steps},
        limit=20,
        out=f"runs/steps-{steps}",
    )
    for steps in (2, 6)
)
print(short.compare(long, ["sr", "osr", "ne", "tl"]))
