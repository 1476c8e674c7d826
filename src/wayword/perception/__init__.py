"""Places to words and sightings: recorded, symbolic and neural perceivers."""
