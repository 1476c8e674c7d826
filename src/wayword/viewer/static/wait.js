"use strict";
// A page that is still being made: it is requested again until it is there.
history.scrollRestoration = "manual"; // it begins at its top
setTimeout(() => location.reload(), 300);
