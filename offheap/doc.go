package offheap
