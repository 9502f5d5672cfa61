import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The Java client's transactional producer for tests in Python: each line is a transaction,
 * in tab-separated words.
 *
 * <pre>
 * BOOTSTRAP TRANSACTIONAL-ID    in: end group topic offset (topic partition value)*
 *                               out: how it ended, and the offsets
 * </pre>
 *
 * The end is "commit", "abort", or "fence": to be committed when another producer has taken
 * the transactional id over. The group, "-" for none, commits the offset of partition 0.
 */
public final class Transactions {
    public static void main(String[] args) throws Exception {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        try (KafkaProducer<byte[], String> producer = producer(args[0], args[1])) {
            for (String line : in.lines().toList()) {
                out.println(transact(producer, args, line.split("\t")));
            }
        }
        out.flush();
    }

    private static KafkaProducer<byte[], String> producer(String bootstrap, String id) {
        KafkaProducer<byte[], String> producer = new KafkaProducer<>(
                Map.of("bootstrap.servers", bootstrap, "transactional.id", id),
                new ByteArraySerializer(),
                new StringSerializer());
        producer.initTransactions();
        return producer;
    }

    private static String transact(
            KafkaProducer<byte[], String> producer, String[] args, String[] words)
            throws Exception {
        producer.beginTransaction();
        List<Future<RecordMetadata>> answers = new ArrayList<>();
        for (int i = 4; i < words.length; i += 3) {
            answers.add(producer.send(new ProducerRecord<>(
                    words[i], Integer.valueOf(words[i + 1]), null, words[i + 2])));
        }
        if (!words[1].equals("-")) {
            producer.sendOffsetsToTransaction(
                    Map.of(
                            new TopicPartition(words[2], 0),
                            new OffsetAndMetadata(Long.parseLong(words[3]))),
                    new ConsumerGroupMetadata(words[1]));
        }
        producer.flush();
        List<Long> offsets = new ArrayList<>();
        for (Future<RecordMetadata> answer : answers) {
            offsets.add(answer.get().offset());
        }
        return offsets.stream()
                .map(String::valueOf)
                .collect(Collectors.joining("\t", end(producer, args, words[0]) + "\t", ""));
    }

    private static String end(
            KafkaProducer<byte[], String> producer, String[] args, String how) {
        if (how.equals("abort")) {
            producer.abortTransaction();
            return "aborted";
        }
        if (how.equals("fence")) {
            producer(args[0], args[1]).close();
        }
        try {
            producer.commitTransaction();
            return "committed";
        } catch (KafkaException refused) {
            return refused.getClass().getSimpleName();
        }
    }
}
