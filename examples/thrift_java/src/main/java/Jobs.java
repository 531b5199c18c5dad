import java.io.FileWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TMultiplexedProtocol;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.layered.TFramedTransport;
import org.aragog.urlstore.CallOptions;
import org.aragog.urlstore.ClaimedJob;
import org.aragog.urlstore.DequeueOptions;
import org.aragog.urlstore.JobClaim;
import org.aragog.urlstore.NackOptions;
import org.aragog.urlstore.NewJob;
import org.aragog.urlstore.PinLater;

/**
 * A producer and a worker of jobs that Python's workers share (examples/job_exchange).
 *
 *     thrift --gen java:generated_annotations=suppress -out src/main/java urlstore.thrift
 *     mvn package dependency:copy-dependencies
 *     java -cp 'target/classes:target/dependency/*' Jobs produce HOST PORT QUEUE JOB_TYPE FROM TO
 *     java -cp 'target/classes:target/dependency/*' Jobs work HOST PORT QUEUE FILE
 *
 * The producer may be killed and started again: a unique key keeps a job from being there twice while it
 * waits or runs. So may the worker: a job is acknowledged after its line is in the file, and one that was
 * not is delivered again when its claim ends.
 */
public class Jobs {
  static final int BATCH = 50;
  static final String JSON = "application/json";

  public static void main(String[] args) throws Exception {
    PinLater.Client jobs = connect(args[1], Integer.parseInt(args[2]));
    if (args[0].equals("produce")) {
      produce(jobs, args[3], args[4], Integer.parseInt(args[5]), Integer.parseInt(args[6]));
    } else {
      work(jobs, args[3], args[4]);
    }
  }

  static PinLater.Client connect(String host, int port) throws Exception {
    TFramedTransport transport = new TFramedTransport(new TSocket(host, port));
    transport.open();
    return new PinLater.Client(new TMultiplexedProtocol(new TBinaryProtocol(transport), "PinLater"));
  }

  static void produce(PinLater.Client jobs, String queue, String type, int from, int to) throws Exception {
    for (int at = from; at < to; at += BATCH) {
      List<NewJob> batch = new ArrayList<>();
      for (int number = at; number < Math.min(to, at + BATCH); number++) {
        byte[] body = ("{\"number\": " + number + "}").getBytes(StandardCharsets.UTF_8);
        batch.add(new NewJob(ByteBuffer.wrap(body)).setName(type).setContent_type(JSON)
            .setUnique_key(type + " " + number));
      }
      jobs.enqueue(queue, batch, new CallOptions());
      System.out.println("enqueued " + Math.min(to, at + BATCH));
    }
  }

  static void work(PinLater.Client jobs, String queue, String file) throws Exception {
    DequeueOptions options = new DequeueOptions().setWait_ms(2_000).setClaim_ms(10_000).setWorker("java");
    while (true) {
      List<JobClaim> done = new ArrayList<>();
      for (ClaimedJob job : jobs.dequeue(queue, BATCH, options)) {
        JobClaim claim = new JobClaim(job.job_id, job.claim_token).setAttempt(job.attempt);
        String body = new String(job.getBody(), StandardCharsets.UTF_8);
        Matcher number = Pattern.compile("\\{\"number\": (\\d+)\\}").matcher(body);
        if (!job.content_type.equals(JSON) || !number.matches()) {
          jobs.nack(queue, List.of(claim), new NackOptions().setFail(true).setReason("unknown: " + body));
          continue;
        }
        try (FileWriter lines = new FileWriter(file, true)) {
          lines.write(number.group(1) + "\n");
        }
        done.add(claim);
      }
      if (!done.isEmpty()) {
        jobs.ack(queue, done, new CallOptions());
      }
    }
  }
}
