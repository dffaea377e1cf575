package web

// Hide is hide, for tests.
var Hide = hide
