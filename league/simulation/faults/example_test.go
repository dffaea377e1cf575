package faults_test

import (
	"fmt"

	"evenodd/league/simulation/faults"
)

// The fault of a message follows from the seed and the message alone.
func ExamplePlan_FaultOf() {
	plan, err := faults.Parse("drop=0.5,crash=P03@R2-R4")
	if err != nil {
		fmt.Println(err)
		return
	}
	message := faults.Message{Caller: "referee", Receiver: "P01", Method: "choose_parity", About: "R1M1"}
	for seed := range uint64(3) {
		fmt.Println(plan.FaultOf(seed, message) == faults.NoFault)
	}
	fmt.Println(faults.Active(plan.Crash, "P03", 1), faults.Active(plan.Crash, "P03", 2))
	// Output:
	// false
	// true
	// true
	// false true
}
