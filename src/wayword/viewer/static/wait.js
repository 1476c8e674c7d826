"use strict";
// A page that is still being made: it is requested again until it is there.
setTimeout(() => location.reload(), 300);
