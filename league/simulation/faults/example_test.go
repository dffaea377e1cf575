package faults_test

import (
	"fmt"

	"evenodd/league/simulation/faults"
)

// The fate of a message follows from the seed and the message alone.
func ExamplePlan_FaultOf() {
	plan, err := faults.Parse("drop=0.5,crash=P03@R2-R4")
	if err != nil {
		fmt.Println(err)
		return
	}
	message := faults.Message{Caller: "referee", Receiver: "P01", Method: "choose_parity", About: "R1M1"}
	fmt.Println(plan.FaultOf(7, message) == plan.FaultOf(7, message))
	fmt.Println(faults.Active(plan.Crash, "P03", 1), faults.Active(plan.Crash, "P03", 2))
	// Output:
	// true
	// false true
}
