// franz-go in the course of tests/clients/transactions: its GroupTransactSession, which is a consumer and a
// transactional producer in one, and goes back to what is committed after each abort.

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"trackway.test/clients/adapter"
)

// Transform begins anew with its id when the library gives up a request because nothing listens: it does so at once.
func (c client) Transform(ctx context.Context, t *adapter.Transform) error {
	for {
		err := c.transform(ctx, t)
		var network *net.OpError
		if !errors.As(err, &network) {
			return err
		}
		if err := t.Lost(err); err != nil {
			return err
		}
		time.Sleep(adapter.RetryPause)
	}
}

func (c client) transform(ctx context.Context, t *adapter.Transform) error {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(c.bootstrap),
		kgo.TransactionalID(t.TransactionalID), kgo.TransactionTimeout(t.TransactionTimeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(t.Output),
		kgo.ConsumerGroup(t.Group), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(adapter.SessionTimeout), kgo.HeartbeatInterval(adapter.HeartbeatInterval),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(),
	)
	if err != nil {
		return err
	}
	defer session.CloseAllowingRebalance()
	if _, _, err := session.Client().ProducerID(ctx); err != nil {
		return err
	}
	t.Ready()
	// A session without topics does not join.
	session.Client().AddConsumeTopics(t.Input)
	for ctx.Err() == nil {
		fetches := session.PollRecords(ctx, adapter.MostRecords)
		fetches.EachError(func(topic string, partition int32, err error) {
			fmt.Fprintf(os.Stderr, "fetch %s-%d: %v\n", topic, partition, err)
		})
		if records := recordsOf(fetches); len(records) > 0 {
			if _, err := t.Transact(records, transaction{session}); err != nil {
				return err
			}
		}
	}
	return nil
}

func recordsOf(fetches kgo.Fetches) []adapter.Record {
	records := []adapter.Record{}
	fetches.EachRecord(func(r *kgo.Record) {
		records = append(records, adapter.Record{Partition: r.Partition, Offset: r.Offset, Value: string(r.Value)})
	})
	return records
}

type transaction struct{ *kgo.GroupTransactSession }

func (t transaction) Write(values []adapter.Copy) error {
	return t.ProduceSync(context.Background(), recordsFrom(values)...).FirstErr()
}

func recordsFrom(values []adapter.Copy) []*kgo.Record {
	records := make([]*kgo.Record, len(values))
	for i, v := range values {
		records[i] = &kgo.Record{Partition: v.Partition, Value: []byte(v.Value)}
	}
	return records
}

func (t transaction) End(commit bool) (bool, error) {
	return t.GroupTransactSession.End(context.Background(), kgo.TransactionEndTry(commit))
}

func (c client) Producer(t *adapter.Transform) (adapter.Transaction, error) {
	cl, err := c.open(
		kgo.TransactionalID(t.TransactionalID),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(t.Output),
		// Not every client that is to read it knows what this one prefers.
		kgo.ProducerBatchCompression(kgo.NoCompression()),
	)
	return groupless{cl}, err
}

// groupless is the transaction of a client that consumes nothing.
type groupless struct{ *kgo.Client }

func (g groupless) Begin() error { return g.BeginTransaction() }

func (g groupless) Write(values []adapter.Copy) error {
	return g.ProduceSync(context.Background(), recordsFrom(values)...).FirstErr()
}

func (g groupless) End(commit bool) (bool, error) {
	return commit, g.EndTransaction(context.Background(), kgo.TransactionEndTry(commit))
}

func (c client) IsFenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch)
}

func (c client) Follow(ctx context.Context, f adapter.Follow, emit func(adapter.Record) error) error {
	all := map[int32]kgo.Offset{}
	for p := range f.Partitions {
		all[int32(p)] = kgo.NewOffset().AtStart()
	}
	isolation := kgo.ReadUncommitted()
	if f.CommittedOnly {
		isolation = kgo.ReadCommitted()
	}
	cl, err := c.open(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{f.Topic: all}), kgo.FetchIsolationLevel(isolation),
	)
	if err != nil {
		return err
	}
	defer cl.Close()
	for ctx.Err() == nil {
		for _, r := range recordsOf(cl.PollFetches(ctx)) {
			if err := emit(r); err != nil {
				return err
			}
		}
	}
	return nil
}
