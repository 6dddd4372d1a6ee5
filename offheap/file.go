package offheap

func openFiles() []Region { return nil }

// A File is a mapped file.
type File struct{}
