package leaguetest

// NoDescriptors is a failure of this side, as carriers know it.
type NoDescriptors struct{}

func (NoDescriptors) Error() string { return "too many open files" }

func (NoDescriptors) Local() bool { return true }
