import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * One member of a consumer group, which polls until it is told to close: commands come in
 * and events go out as lines of tab-separated words.
 *
 * <pre>
 * GroupMember BOOTSTRAP GROUP TOPIC (name=value)*
 *
 * in:  commit          commitSync of its positions
 *      commit-async    commitAsync of its positions
 *      close           KafkaConsumer.close, and the end
 *
 * out: assigned generation partition*        as the rebalance listener is told
 *      revoked generation partition*
 *      lost generation partition*
 *      record partition offset value
 *      committed (partition offset)*
 *      failed exception
 *      closed
 * </pre>
 */
public final class GroupMember {
    private static final Duration POLL = Duration.ofMillis(50);

    private final KafkaConsumer<String, String> consumer;
    private final PrintStream out;

    private GroupMember(KafkaConsumer<String, String> consumer, PrintStream out) {
        this.consumer = consumer;
        this.out = out;
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> configs = new HashMap<>(Map.of(
                "bootstrap.servers", args[0],
                "group.id", args[1],
                "auto.offset.reset", "earliest",
                "enable.auto.commit", false));
        for (int i = 3; i < args.length; i++) {
            String[] config = args[i].split("=", 2);
            configs.put(config[0], config[1]);
        }
        // Commands wait here until the thread that owns the consumer is between two polls.
        ConcurrentLinkedQueue<String> commands = new ConcurrentLinkedQueue<>();
        Thread listener = new Thread(() -> new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8))
                .lines().forEach(commands::add));
        listener.setDaemon(true);
        listener.start();
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
                configs, new StringDeserializer(), new StringDeserializer());
        new GroupMember(consumer, out).run(args[2], commands);
    }

    private void run(String topic, ConcurrentLinkedQueue<String> commands) {
        consumer.subscribe(List.of(topic), new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                tell("assigned", partitions);
            }

            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                tell("revoked", partitions);
            }

            @Override
            public void onPartitionsLost(Collection<TopicPartition> partitions) {
                tell("lost", partitions);
            }
        });
        for (String command = ""; !"close".equals(command); command = commands.poll()) {
            if (command != null) {
                obey(command);
            }
            for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                out.println(String.join("\t", "record", Integer.toString(record.partition()),
                        Long.toString(record.offset()), record.value()));
            }
        }
        consumer.close();
        out.println("closed");
    }

    private void obey(String command) {
        Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
        for (TopicPartition partition : consumer.assignment()) {
            positions.put(partition, new OffsetAndMetadata(consumer.position(partition)));
        }
        switch (command) {
            case "" -> { }
            case "commit" -> {
                consumer.commitSync(positions);
                tellCommitted(positions, null);
            }
            case "commit-async" -> consumer.commitAsync(positions, this::tellCommitted);
            default -> throw new IllegalArgumentException(command);
        }
    }

    private void tell(String event, Collection<TopicPartition> partitions) {
        StringBuilder line = new StringBuilder(event)
                .append('\t').append(consumer.groupMetadata().generationId());
        partitions.forEach(partition -> line.append('\t').append(partition.partition()));
        out.println(line);
    }

    private void tellCommitted(
            Map<TopicPartition, OffsetAndMetadata> offsets, Exception error) {
        StringBuilder line = new StringBuilder(
                error == null ? "committed" : "failed\t" + error.getClass().getSimpleName());
        if (error == null) {
            offsets.forEach((partition, offset) -> line.append('\t')
                    .append(partition.partition()).append('\t').append(offset.offset()));
        }
        out.println(line);
    }
}
