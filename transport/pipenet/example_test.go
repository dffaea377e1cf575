package pipenet_test

import (
	"context"
	"fmt"
	"io"

	"evenodd/transport/pipenet"
)

// Both ends of a connection are pipes in this process.
func ExampleListener() {
	listener := pipenet.Listen("localhost:8101")
	go func() {
		connection, err := listener.Accept()
		if err == nil {
			_, _ = io.WriteString(connection, "hello")
			_ = connection.Close()
		}
	}()
	connection, err := listener.Dial(context.Background(), "tcp", "localhost:8101")
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := io.ReadAll(connection)
	fmt.Println(string(text), err, listener.Close())
	// Output: hello <nil> <nil>
}
