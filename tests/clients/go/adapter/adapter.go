// Package adapter is the command line that every Go client adapter shares: it reads the verb and its flags, calls
// one Client, and prints what the client reports as JSON lines.
//
// The one thing to know: stdout carries results only. Reasons of failure go to stderr (the last line counts), and
// a thing that the library cannot do is Unsupported, which is exit code 64 and not a failure.
package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

// Unsupported names something that the library has no way to do.
type Unsupported string

func (u Unsupported) Error() string { return string(u) }

// Record is one consumed record; the scenario's keys and values are text.
type Record struct {
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Key       string `json:"key"`
	Value     string `json:"value"`
}

// Produce says what to produce: keys k<i> and values v<i> for i in Start..Start+Count-1.
type Produce struct {
	Topic         string
	Start, Count  int
	Codec         string
	Idempotent    bool
	TimestampBase int64 // ms, or -1: let the library choose the time
	Partition     int32 // or -1: let the library's partitioner choose
}

// Each calls fn with key, value and time (zero when the library is to choose it) of every record to produce.
func (p Produce) Each(fn func(key, value []byte, time time.Time)) {
	for i := p.Start; i < p.Start+p.Count; i++ {
		var at time.Time
		if p.TimestampBase >= 0 {
			at = time.UnixMilli(p.TimestampBase + int64(i))
		}
		fn(fmt.Appendf(nil, "k%d", i), fmt.Appendf(nil, "v%d", i), at)
	}
}

// Membership says which group to join and how.
type Membership struct {
	Topic, Group string
	InstanceID   string // of a static member (KIP-345), or empty
	NextGen      bool   // the consumer protocol of KIP-848 instead of the classic one
}

// Client is what one library must do for the scenario. Every method returns when the broker has answered.
type Client interface {
	Create(ctx context.Context, topic string, partitions int) error
	List(ctx context.Context) ([]string, error)
	Describe(ctx context.Context, topic string) (partitions int, err error)
	Delete(ctx context.Context, topic string) error
	// Produce waits until every record is acknowledged by all in-sync replicas.
	Produce(ctx context.Context, p Produce) error
	// Consume reads all partitions without a group until emit returns false. fromMs is a timestamp, -1 the beginning.
	Consume(ctx context.Context, topic string, fromMs int64, emit func(Record) bool) error
	// Member stays in the group until ctx ends, then leaves it.
	Member(ctx context.Context, m Membership, events *Events) error
	Committed(ctx context.Context, topic, group string) (map[int32]int64, error)
	Groups(ctx context.Context) ([]string, error)
	DescribeGroup(ctx context.Context, group string) (state string, members int, err error)
	DeleteGroup(ctx context.Context, group string) error
}

const (
	// SessionTimeout is the shortest that Kafka allows, so that a killed member is missed soon.
	SessionTimeout    = 6 * time.Second
	HeartbeatInterval = time.Second
	// RetryPause is how long a member waits before it tries again what failed, as when the broker restarts.
	RetryPause      = 300 * time.Millisecond
	adminTimeout    = 30 * time.Second
	exitUnsupported = 64
)

// Main runs one verb and ends the process.
func Main(connect func(bootstrap string) Client) {
	err := run(connect)
	var unsupported Unsupported
	switch {
	case errors.As(err, &unsupported):
		emit(map[string]any{"unsupported": string(unsupported)})
		os.Exit(exitUnsupported)
	case err != nil:
		fmt.Fprintln(os.Stderr, strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
}

func run(connect func(string) Client) error {
	if len(os.Args) < 2 {
		return errors.New("usage: VERB --bootstrap HOST:PORT [--name value ...]")
	}
	if verb := os.Args[1]; slices.Contains([]string{"transform", "follow", "write"}, verb) {
		return runTransform(connect)
	}
	verb, flags := os.Args[1], flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	bootstrap := flags.String("bootstrap", "127.0.0.1:9092", "host:port")
	topic := flags.String("topic", "", "")
	group := flags.String("group", "", "")
	instanceID := flags.String("instance-id", "", "")
	groupProtocol := flags.String("group-protocol", "classic", "classic or consumer")
	partitions := flags.Int("partitions", 1, "")
	count := flags.Int("count", 0, "")
	start := flags.Int("start", 0, "")
	codec := flags.String("codec", "none", "")
	idempotent := flags.String("idempotent", "false", "true or false")
	timestampBase := flags.Int64("timestamp-base", -1, "ms")
	partition := flags.Int("partition", -1, "")
	from := flags.String("from", "beginning", "beginning or timestamp:MS")
	timeoutMs := flags.Int("timeout-ms", 30000, "")
	if err := flags.Parse(os.Args[2:]); err != nil {
		return err
	}
	client := connect(*bootstrap)
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()

	switch verb {
	case "create":
		return done(client.Create(ctx, *topic, *partitions))
	case "delete":
		return done(client.Delete(ctx, *topic))
	case "delete-group":
		return done(client.DeleteGroup(ctx, *group))
	case "list":
		return printed(client.List(ctx))("topics")
	case "groups":
		return printed(client.Groups(ctx))("groups")
	case "describe":
		return printed(client.Describe(ctx, *topic))("partitions")
	case "describe-group":
		state, members, err := client.DescribeGroup(ctx, *group)
		if err != nil {
			return err
		}
		return emit(map[string]any{"state": state, "members": members})
	case "committed":
		offsets, err := client.Committed(ctx, *topic, *group)
		if err != nil {
			return err
		}
		return emitOffsets(offsets)
	case "produce":
		return produce(client, Produce{*topic, *start, *count, *codec, *idempotent == "true", *timestampBase, int32(*partition)})
	case "consume":
		return consume(client, *topic, *from, *count, time.Duration(*timeoutMs)*time.Millisecond)
	case "member":
		m := Membership{*topic, *group, *instanceID, *groupProtocol == "consumer"}
		return client.Member(untilStdinCloses(), m, &Events{})
	}
	return fmt.Errorf("unknown verb %q", verb)
}

func produce(client Client, p Produce) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := client.Produce(ctx, p); err != nil {
		return err
	}
	return emit(map[string]any{"acked": p.Count})
}

func consume(client Client, topic, from string, count int, timeout time.Duration) error {
	fromMs := int64(-1)
	if from != "beginning" {
		if _, err := fmt.Sscanf(from, "timestamp:%d", &fromMs); err != nil {
			return fmt.Errorf("--from must be beginning or timestamp:MS, not %q", from)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	seen := 0
	if count > 0 {
		err := client.Consume(ctx, topic, fromMs, func(r Record) bool {
			if seen < count {
				seen++
				emit(r)
			}
			return seen < count
		})
		if err != nil {
			return fmt.Errorf("consumed %d of %d records: %w", seen, count, err)
		}
	}
	return emit(map[string]any{"done": seen})
}

// untilStdinCloses is a context that ends at the end of standard input: the harness's way to ask a member to leave.
func untilStdinCloses() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx
}

func done(err error) error {
	if err != nil {
		return err
	}
	return emit(map[string]any{"ok": true})
}

// printed emits a result under the name given to the returned function, unless there was an error.
func printed[T any](result T, err error) func(name string) error {
	return func(name string) error {
		if err != nil {
			return err
		}
		return emit(map[string]any{name: result})
	}
}

func emitOffsets(offsets map[int32]int64) error {
	for _, partition := range sorted(offsets) {
		if err := emit(map[string]any{"partition": partition, "offset": offsets[partition]}); err != nil {
			return err
		}
	}
	return nil
}

var stdout sync.Mutex

func emit(value any) error {
	stdout.Lock()
	defer stdout.Unlock()
	return json.NewEncoder(os.Stdout).Encode(value)
}

func sorted[V any](set map[int32]V) []int32 {
	keys := make([]int32, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	return keys
}
