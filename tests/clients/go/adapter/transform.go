// What the Go programs of tests/clients/transactions/course.ts share; the course says there what such a program does.

package adapter

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"sync"
	"time"
)

const (
	// MostRecords is how many records of the input one transaction takes.
	MostRecords = 20
	copies      = 2
	exitFenced  = 3
	exitFailed  = 4
)

// Transformer is a client that has transactions.
type Transformer interface {
	// Transform joins a group and makes transactions of what it reads, until ctx ends. An error is the end of it.
	Transform(ctx context.Context, t *Transform) error
	// IsFenced tells whether an error says that another producer has taken the id.
	IsFenced(err error) bool
	// Follow gives what is in a topic to emit, from the beginning on, until ctx ends.
	Follow(ctx context.Context, f Follow, emit func(Record) error) error
	// Producer gives a transactional producer, without a group.
	Producer(t *Transform) (Transaction, error)
}

// Transaction is one transaction of a library.
type Transaction interface {
	Begin() error
	// Write writes into the output and waits until all is there.
	Write(values []Copy) error
	// End ends it, with the offsets when it commits. It tells whether it was committed; an error is one that it cannot
	// go on from.
	End(commit bool) (committed bool, err error)
}

// Follow says what to read: of all records, or of those that are committed.
type Follow struct {
	Topic         string
	Partitions    int
	CommittedOnly bool
}

// Copy is a record of the output.
type Copy struct {
	Partition int32
	Value     string
}

// Transform is one run of the verb.
type Transform struct {
	TransactionalID, Group, Input, Output string
	TransactionTimeout                    time.Duration
	partitions                            int
	abortRate                             float64
	random                                *rand.Rand
	name                                  string
	number                                int
	tx                                    string
	lock                                  sync.Mutex
	wantsHold                             bool
	goOn                                  chan struct{}
}

// Ready says that the producer has its id, and nobody who had it before can go on.
func (t *Transform) Ready() { emit(map[string]any{"event": "ready"}) }

// Lost says that nobody knows how the transaction ended, or will end when its id is taken again.
func (t *Transform) Lost(reason error) error { return t.ended("failed", reason) }

// Transact makes one transaction of some records. It tells whether that was committed; if not, the records are to be
// read again.
func (t *Transform) Transact(records []Record, transaction Transaction) (bool, error) {
	t.tx = fmt.Sprintf("%s-%d", t.name, t.number)
	t.number++
	commit := t.random.Float64() >= t.abortRate
	reason := transaction.Begin()
	if reason == nil {
		reason = transaction.Write(t.copiesOf(records))
	}
	if reason == nil && t.takesHold() {
		emit(map[string]any{"event": "holding", "tx": t.tx})
		<-t.goOn
		commit = true
	}
	committed, err := transaction.End(commit && reason == nil)
	if err != nil {
		return false, err
	}
	if committed {
		return true, t.ended("committed", nil)
	}
	if commit && reason == nil {
		reason = fmt.Errorf("the library did not commit")
	}
	return false, t.ended("aborted", reason)
}

func (t *Transform) copiesOf(records []Record) []Copy {
	all := make([]Copy, 0, copies*len(records))
	for _, r := range records {
		for c := range copies {
			value := fmt.Sprintf("%d %d %d %s %d %s", r.Partition, r.Offset, c, t.tx, copies*len(records), r.Value)
			all = append(all, Copy{(r.Partition + int32(c)) % int32(t.partitions), value})
		}
	}
	return all
}

func (t *Transform) takesHold() bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	wanted := t.wantsHold
	t.wantsHold = false
	return wanted
}

func (t *Transform) ended(how string, reason error) error {
	line := map[string]any{"event": how, "tx": nil}
	if t.tx != "" {
		line["tx"] = t.tx
	}
	if reason != nil {
		line["error"] = reason.Error()
	}
	t.tx = ""
	return emit(line)
}

// listen takes the lines of standard input, and calls closed when it closes.
func (t *Transform) listen(closed func()) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch lines.Text() {
		case "hold":
			t.lock.Lock()
			t.wantsHold = true
			t.lock.Unlock()
		case "go":
			t.goOn <- struct{}{}
		}
	}
	closed()
	close(t.goOn)
}

// write makes one transaction of its own in partition 0.
func write(transformer Transformer, t *Transform, value string, count int, end string) error {
	transaction, err := transformer.Producer(t)
	if err != nil {
		return err
	}
	if err := transaction.Begin(); err != nil {
		return err
	}
	values := make([]Copy, count)
	for i := range values {
		values[i].Value = fmt.Sprintf("%s %d", value, i)
	}
	if err := transaction.Write(values); err != nil {
		return err
	}
	commit := end == "commit"
	if committed, err := transaction.End(commit); err != nil || committed != commit {
		return fmt.Errorf("%s gave %t and %w", end, committed, err)
	}
	return emit(map[string]any{"ended": end})
}

func runTransform(connect func(string) Client) error {
	flags := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	t := &Transform{goOn: make(chan struct{}, 1)}
	bootstrap := flags.String("bootstrap", "", "host:port")
	flags.StringVar(&t.TransactionalID, "transactional-id", "", "")
	flags.StringVar(&t.Group, "group", "", "")
	flags.StringVar(&t.Input, "input", "", "")
	flags.StringVar(&t.Output, "output", "", "")
	flags.IntVar(&t.partitions, "partitions", 1, "")
	flags.Float64Var(&t.abortRate, "abort-rate", 0, "")
	seed := flags.Int64("seed", 0, "")
	timeoutMs := flags.Int("transaction-timeout-ms", 60_000, "")
	topic := flags.String("topic", "", "of follow")
	isolation := flags.String("isolation", "read_committed", "of follow")
	value := flags.String("value", "", "of write")
	count := flags.Int("count", 0, "of write")
	end := flags.String("end", "commit", "of write: commit or abort")
	if err := flags.Parse(os.Args[2:]); err != nil {
		return err
	}
	t.random = rand.New(rand.NewSource(*seed))
	t.name = fmt.Sprintf("%s-%d", t.TransactionalID, time.Now().UnixMilli())
	t.TransactionTimeout = time.Duration(*timeoutMs) * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	go t.listen(cancel)
	transformer, ok := connect(*bootstrap).(Transformer)
	if !ok {
		return Unsupported("this library has no transactions")
	}
	switch os.Args[1] {
	case "follow":
		f := Follow{*topic, t.partitions, *isolation == "read_committed"}
		return transformer.Follow(ctx, f, func(r Record) error {
			return emit(map[string]any{"partition": r.Partition, "offset": r.Offset, "value": r.Value})
		})
	case "write":
		return write(transformer, t, *value, *count, *end)
	}
	if err := transformer.Transform(ctx, t); err != nil {
		how, code := "failed", exitFailed
		if transformer.IsFenced(err) {
			how, code = "fenced", exitFenced
		}
		_ = t.ended(how, err)
		os.Exit(code)
	}
	return nil
}
