// The adapter of github.com/twmb/franz-go. Its group members use the cooperative-sticky assignor, the library's
// default, so an assignment changes in parts.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"trackway.test/clients/adapter"
)

type client struct{ bootstrap string }

func main() { adapter.Main(func(bootstrap string) adapter.Client { return client{bootstrap} }) }

func (c client) open(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(opts, kgo.SeedBrokers(c.bootstrap))...)
}

// admin opens an admin client for one call.
func admin[T any](c client, call func(*kadm.Client) (T, error)) (T, error) {
	cl, err := c.open()
	if err != nil {
		var none T
		return none, err
	}
	defer cl.Close()
	return call(kadm.NewClient(cl))
}

func (c client) Create(ctx context.Context, topic string, partitions int) error {
	_, err := admin(c, func(a *kadm.Client) (kadm.CreateTopicResponse, error) {
		return a.CreateTopic(ctx, int32(partitions), 1, nil, topic)
	})
	return err
}

func (c client) List(ctx context.Context) ([]string, error) {
	return admin(c, func(a *kadm.Client) ([]string, error) {
		topics, err := a.ListTopics(ctx)
		return topics.Names(), err
	})
}

func (c client) Describe(ctx context.Context, topic string) (int, error) {
	return admin(c, func(a *kadm.Client) (int, error) {
		topics, err := a.ListTopics(ctx, topic)
		if err == nil {
			err = topics.Error()
		}
		return len(topics[topic].Partitions), err
	})
}

func (c client) Delete(ctx context.Context, topic string) error {
	_, err := admin(c, func(a *kadm.Client) (kadm.DeleteTopicResponse, error) { return a.DeleteTopic(ctx, topic) })
	return err
}

func (c client) Produce(ctx context.Context, p adapter.Produce) error {
	codec, ok := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}[p.Codec]
	if !ok {
		return fmt.Errorf("unknown codec %q", p.Codec)
	}
	opts := []kgo.Opt{kgo.ProducerBatchCompression(codec), kgo.RequiredAcks(kgo.AllISRAcks())}
	if !p.Idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite())
	}
	if p.Partition >= 0 {
		opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	cl, err := c.open(opts...)
	if err != nil {
		return err
	}
	defer cl.Close()
	records := make([]*kgo.Record, 0, p.Count)
	p.Each(func(key, value []byte, at time.Time) {
		records = append(records, &kgo.Record{Topic: p.Topic, Key: key, Value: value, Timestamp: at, Partition: p.Partition})
	})
	return cl.ProduceSync(ctx, records...).FirstErr()
}

func (c client) Consume(ctx context.Context, topic string, fromMs int64, emit func(adapter.Record) bool) error {
	from := kgo.NewOffset().AtStart()
	if fromMs >= 0 {
		from = kgo.NewOffset().AfterMilli(fromMs)
	}
	cl, err := c.open(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(from))
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, r := range fetches.Records() {
			if !emit(adapter.Record{Partition: r.Partition, Offset: r.Offset, Key: string(r.Key), Value: string(r.Value)}) {
				return nil
			}
		}
	}
}

func (c client) Member(ctx context.Context, m adapter.Membership, events *adapter.Events) error {
	opts := []kgo.Opt{
		kgo.ConsumerGroup(m.Group), kgo.ConsumeTopics(m.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(adapter.SessionTimeout), kgo.HeartbeatInterval(adapter.HeartbeatInterval),
		// No partition may move between a poll and the commit of what it returned.
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, p map[string][]int32) { events.Added(p[m.Topic]) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, p map[string][]int32) {
			if ctx.Err() == nil { // leaving is no change of assignment
				events.Removed(p[m.Topic])
			}
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, p map[string][]int32) { events.Removed(p[m.Topic]) }),
	}
	if m.InstanceID != "" {
		opts = append(opts, kgo.InstanceID(m.InstanceID))
	}
	if m.NextGen {
		opts = append(opts, kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer())
	}
	cl, err := c.open(opts...)
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()
	for ctx.Err() == nil {
		fetches := cl.PollFetches(ctx)
		fetches.EachError(func(t string, p int32, err error) {
			if ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "fetch %s-%d: %v\n", t, p, err)
			}
		})
		fetches.EachRecord(func(r *kgo.Record) { events.Record(r.Partition, r.Offset, r.Value) })
		if fetches.NumRecords() > 0 {
			// The client keeps what a refused commit was about: the next one takes it along, if it still may.
			if err := cl.CommitUncommittedOffsets(context.WithoutCancel(ctx)); err != nil {
				fmt.Fprintf(os.Stderr, "commit: %v\n", err)
			} else {
				events.Committed()
			}
		}
		cl.AllowRebalance()
	}
	return nil
}

func (c client) Committed(ctx context.Context, topic, group string) (map[int32]int64, error) {
	return admin(c, func(a *kadm.Client) (map[int32]int64, error) {
		responses, err := a.FetchOffsets(ctx, group)
		if err == nil {
			err = responses.Error()
		}
		offsets := map[int32]int64{}
		for partition, o := range responses[topic] {
			offsets[partition] = o.At
		}
		return offsets, err
	})
}

func (c client) Groups(ctx context.Context) ([]string, error) {
	return admin(c, func(a *kadm.Client) ([]string, error) {
		groups, err := a.ListGroups(ctx)
		return groups.Groups(), err
	})
}

func (c client) DescribeGroup(ctx context.Context, group string) (string, int, error) {
	described, err := admin(c, func(a *kadm.Client) (kadm.DescribedGroup, error) {
		groups, err := a.DescribeGroups(ctx, group)
		if err == nil {
			err = groups.Error()
		}
		return groups[group], err
	})
	return described.State, len(described.Members), err
}

func (c client) DeleteGroup(ctx context.Context, group string) error {
	_, err := admin(c, func(a *kadm.Client) (kadm.DeleteGroupResponse, error) { return a.DeleteGroup(ctx, group) })
	return err
}
