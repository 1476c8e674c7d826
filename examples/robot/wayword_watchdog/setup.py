from setuptools import setup

NAME = "wayword_watchdog"

setup(
    name=NAME,
    version="0.1.0",
    packages=[NAME],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    entry_points={"console_scripts": [f"watchdog = {NAME}.watchdog:main"]},
)
