"""Networks of the transformers library and OpenCV; imported where they are used.

boxes      captions, answers, depth, detection and grounding
matching   image-text scores, tags, landmark scores
"""
