package page

// Hide is hide, for tests.
var Hide = hide
