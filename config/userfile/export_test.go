package userfile

// With the time that a named pipe may have no process at its other end.
var (
	ReadWithin  = read
	WriteWithin = write
)
