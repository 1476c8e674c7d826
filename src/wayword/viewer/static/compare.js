"use strict";
// Two runs side by side: nothing to do but to place the labels of maps, and to say that it is there.
if (typeof unclutter === "function") unclutter(document.querySelectorAll("svg.map"));
document.body.dataset.ready = "1";
