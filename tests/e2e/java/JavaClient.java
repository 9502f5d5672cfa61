import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java client for tests in Python: records go in and come out as lines of tab-separated
 * words, bytes in base64, null as "-".
 *
 * <pre>
 * write BOOTSTRAP         in: topic codec timestamp key value (name value)*    out: offset
 * read BOOTSTRAP          in: topic count
 *                         out: offset timestamp type key value (name value)*
 * administer BOOTSTRAP    in: topic                              out: what was found, by name
 * </pre>
 */
public final class JavaClient {
    private static final int PATIENCE_MS = 20_000;

    public static void main(String[] args) throws Exception {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        List<String[]> lines = in.lines().map(line -> line.split("\t", -1)).toList();
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        switch (args[0]) {
            case "write" -> write(args[1], lines, out);
            case "read" -> read(args[1], lines, out);
            case "administer" -> administer(args[1], lines.get(0)[0], out);
            default -> throw new IllegalArgumentException(args[0]);
        }
        out.flush();
    }

    /** With the client's defaults: idempotent, acks=all. */
    private static void write(String bootstrap, List<String[]> lines, PrintStream out)
            throws Exception {
        Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
        List<Future<RecordMetadata>> answers = new ArrayList<>();
        for (String[] line : lines) {
            KafkaProducer<byte[], byte[]> producer =
                    producers.computeIfAbsent(line[1], codec -> producer(bootstrap, codec));
            List<Header> headers = new ArrayList<>();
            for (int i = 5; i < line.length; i += 2) {
                headers.add(new RecordHeader(text(line[i]), bytes(line[i + 1])));
            }
            Long timestamp = Long.valueOf(line[2]);
            answers.add(producer.send(new ProducerRecord<>(
                    line[0], 0, timestamp, bytes(line[3]), bytes(line[4]), headers)));
            // The order of the lines is that of the log, whichever codec they have.
            producer.flush();
        }
        for (Future<RecordMetadata> answer : answers) {
            out.println(answer.get().offset());
        }
        producers.values().forEach(KafkaProducer::close);
    }

    private static KafkaProducer<byte[], byte[]> producer(String bootstrap, String codec) {
        return new KafkaProducer<>(
                Map.of(
                        "bootstrap.servers", bootstrap,
                        "compression.type", codec,
                        "delivery.timeout.ms", PATIENCE_MS,
                        "request.timeout.ms", PATIENCE_MS / 2),
                new ByteArraySerializer(),
                new ByteArraySerializer());
    }

    private static void read(String bootstrap, List<String[]> lines, PrintStream out) {
        Map<String, Object> configs = Map.of(
                "bootstrap.servers", bootstrap,
                "enable.auto.commit", false,
                "auto.offset.reset", "none");
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                configs, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            for (String[] line : lines) {
                TopicPartition partition = new TopicPartition(line[0], 0);
                consumer.assign(List.of(partition));
                consumer.seekToBeginning(List.of(partition));
                long deadline = System.currentTimeMillis() + PATIENCE_MS;
                int missing = Integer.parseInt(line[1]);
                while (missing > 0 && System.currentTimeMillis() < deadline) {
                    for (ConsumerRecord<byte[], byte[]> record :
                            consumer.poll(Duration.ofMillis(500))) {
                        out.println(line(record));
                        missing--;
                    }
                }
            }
        }
    }

    private static String line(ConsumerRecord<byte[], byte[]> record) {
        List<String> words = new ArrayList<>(List.of(
                Long.toString(record.offset()),
                Long.toString(record.timestamp()),
                record.timestampType().toString(),
                word(record.key()),
                word(record.value())));
        for (Header header : record.headers()) {
            words.add(word(header.key().getBytes(StandardCharsets.UTF_8)));
            words.add(word(header.value()));
        }
        return String.join("\t", words);
    }

    /** The life of a topic, as the Java administration client sees it. */
    private static void administer(String bootstrap, String topic, PrintStream out)
            throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        TopicPartition first = new TopicPartition(topic, 0);
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        try (Admin admin = Admin.create(Map.of(
                "bootstrap.servers", bootstrap,
                "default.api.timeout.ms", PATIENCE_MS,
                "request.timeout.ms", PATIENCE_MS / 2))) {
            NewTopic wanted = new NewTopic(topic, Optional.of(2), Optional.empty())
                    .configs(Map.of("retention.ms", "3600000"));
            admin.createTopics(List.of(wanted)).all().get();
            found.put("listed", admin.listTopics().names().get().contains(topic));
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
            TopicDescription described =
                    admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
            found.put("partitions", described.partitions().size());
            found.put("leader", described.partitions().get(0).leader().id());
            admin.incrementalAlterConfigs(Map.of(resource, List.of(new AlterConfigOp(
                    new ConfigEntry("retention.bytes", "5000"), AlterConfigOp.OpType.SET))))
                    .all().get();
            var configs = admin.describeConfigs(List.of(resource)).all().get().get(resource);
            found.put("retention.ms", configs.get("retention.ms").value());
            found.put("retention.bytes", configs.get("retention.bytes").value());
            try (KafkaProducer<byte[], byte[]> producer = producer(bootstrap, "none")) {
                for (int i = 0; i < 3; i++) {
                    producer.send(new ProducerRecord<>(topic, 0, null, new byte[] {1})).get();
                }
            }
            long earliest = offset(admin, first, OffsetSpec.earliest());
            long latest = offset(admin, first, OffsetSpec.latest());
            found.put("maxTimestampIsLast",
                    offset(admin, first, OffsetSpec.maxTimestamp()) < latest);
            found.put("logDirs", admin.describeLogDirs(List.of(described.partitions().get(0)
                    .leader().id())).allDescriptions().get().size());
            admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(latest))).all().get();
            found.put("emptied", offset(admin, first, OffsetSpec.earliest()) == latest
                    && earliest < latest);
            found.put("nodes", admin.describeCluster().nodes().get().size());
            found.put("quorum", admin.describeMetadataQuorum().quorumInfo().get().leaderId());
            admin.deleteTopics(List.of(topic)).all().get();
            found.put("stillListed", admin.listTopics().names().get().contains(topic));
        }
        found.forEach((name, value) -> out.println(name + "\t" + value));
    }

    private static long offset(Admin admin, TopicPartition partition, OffsetSpec spec)
            throws Exception {
        return admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get()
                .offset();
    }

    private static byte[] bytes(String word) {
        return word.equals("-") ? null : Base64.getDecoder().decode(word);
    }

    private static String text(String word) {
        return new String(bytes(word), StandardCharsets.UTF_8);
    }

    private static String word(byte[] bytes) {
        return bytes == null ? "-" : Base64.getEncoder().encodeToString(bytes);
    }

    private JavaClient() {}
}
