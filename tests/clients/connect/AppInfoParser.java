package org.apache.kafka.common.utils;

/* What the file connectors of 4.3 ask for their version, and Kafka 4.4 has elsewhere. */
public final class AppInfoParser {
    private AppInfoParser() {
    }

    public static String getVersion() {
        return "4.3.1";
    }
}
