package conformance

import "context"

func refereeRequirements() []Requirement { return nil }

func examineReferee(context.Context, *lab) {}
