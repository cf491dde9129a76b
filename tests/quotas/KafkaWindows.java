// Has Kafka's own Rate and TokenBucket count events drawn from a fixed seed, and prints what they made of each:
// tests/quotas/kafka_windows.txt. Needs kafka-clients on the class path:
//
//   javac -cp kafka-clients-4.4.0.jar KafkaWindows.java && java -cp kafka-clients-4.4.0.jar:. KafkaWindows
//
// "rate SAMPLES SECONDS LIMIT", then lines of time, value, rate, span in ms, throttle time in ms;
// "bucket SAMPLES SECONDS LIMIT", then lines of time, tokens taken, tokens before, tokens after.

import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.metrics.stats.Rate;
import org.apache.kafka.common.metrics.stats.TokenBucket;

public class KafkaWindows {
  private static final long START = 1_700_000_000_000L;

  public static void main(String[] args) {
    Random random = new Random(7);
    for (int course = 0; course < 24; course++) rates(random, course);
    for (int course = 0; course < 12; course++) buckets(random, course);
  }

  private static void rates(Random random, int course) {
    int samples = course % 4 == 0 ? 11 : course % 4 == 1 ? 2 : course % 4 == 2 ? 3 : 1 + random.nextInt(20);
    int seconds = 1 + random.nextInt(3);
    double limit = 100 * (1 + random.nextInt(50));
    MetricConfig config = config(samples, seconds, limit);
    Rate rate = new Rate();
    System.out.println("rate " + samples + " " + seconds + " " + limit);
    long now = START;
    for (int i = 0; i < 60; i++) {
      // Mostly within a sample or two, sometimes at a sample's very end, sometimes beyond the whole window.
      int kind = random.nextInt(10);
      now += kind < 4 ? random.nextInt(20)
          : kind < 8 ? random.nextInt(seconds * 1500)
          : kind == 8 ? seconds * 1000L
          : (long) random.nextInt(samples * seconds * 1300 + 1);
      double value = random.nextInt(12) == 0 ? -random.nextInt(100) : random.nextInt((int) (limit * 3));
      rate.record(config, value, now);
      double measured = rate.measure(config, now);
      long span = rate.windowSize(config, now);
      long throttle = measured > limit ? Math.round((measured - limit) / limit * span) : 0;
      System.out.println(now + " " + value + " " + measured + " " + span + " " + throttle);
    }
  }

  private static void buckets(Random random, int course) {
    int samples = 1 + random.nextInt(12);
    int seconds = 1 + random.nextInt(3);
    double limit = course % 3 == 0 ? 0.5 : 1 + random.nextInt(20);
    MetricConfig config = config(samples, seconds, limit);
    TokenBucket bucket = new TokenBucket();
    System.out.println("bucket " + samples + " " + seconds + " " + limit);
    long now = START;
    for (int i = 0; i < 40; i++) {
      now += random.nextInt(3) == 0 ? 0 : random.nextInt(seconds * 1500);
      double before = bucket.measure(config, now);
      double count = random.nextInt((int) Math.max(4, limit * 4));
      bucket.record(config, count, now);
      System.out.println(now + " " + count + " " + before + " " + bucket.measure(config, now));
    }
  }

  private static MetricConfig config(int samples, int seconds, double limit) {
    return new MetricConfig().samples(samples).timeWindow(seconds, TimeUnit.SECONDS).quota(Quota.upperBound(limit));
  }
}
