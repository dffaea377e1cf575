package lists_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/lists"
)

func TestListsOfNothingAreNil(t *testing.T) {
	assert.Nil(t, lists.Map([]int{}, strconv.Itoa), "nil, so that an optional member is absent")
	assert.Nil(t, lists.Filter([]int{1, 3}, even))
}

func even(n int) bool { return n%2 == 0 }

func Example() {
	numbers := []int{1, 2, 3, 4}
	fmt.Println(lists.Map(lists.Filter(numbers, even), strconv.Itoa))
	// Output: [2 4]
}
