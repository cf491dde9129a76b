// franz-go in the course of tests/clients/transactions: its GroupTransactSession, which is a consumer and a
// transactional producer in one, and goes back to what is committed after each abort.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"trackway.test/clients/adapter"
)

func (c client) Transform(ctx context.Context, t *adapter.Transform) error {
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
	records := make([]*kgo.Record, len(values))
	for i, v := range values {
		records[i] = &kgo.Record{Partition: v.Partition, Value: []byte(v.Value)}
	}
	return t.ProduceSync(context.Background(), records...).FirstErr()
}

func (t transaction) End(commit bool) (bool, error) {
	return t.GroupTransactSession.End(context.Background(), kgo.TransactionEndTry(commit))
}

func (c client) IsFenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch)
}

func (c client) Follow(ctx context.Context, topic string, partitions int, emit func(adapter.Record) error) error {
	all := map[int32]kgo.Offset{}
	for p := range partitions {
		all[int32(p)] = kgo.NewOffset().AtStart()
	}
	cl, err := c.open(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: all}), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
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
