import java.io.FileOutputStream;
import java.io.OutputStream;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** A YARN of one process with one node: writes its configuration and lives as long as its input. */
public class MiniYarn {
  public static void main(String[] arguments) throws Exception {
    YarnConfiguration settings = new YarnConfiguration();
    settings.set("yarn.resourcemanager.hostname", "127.0.0.1");
    settings.set(
        "yarn.resourcemanager.scheduler.class",
        "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler");
    settings.setInt("yarn.scheduler.minimum-allocation-mb", 256);
    settings.setInt("yarn.nodemanager.resource.memory-mb", 4096);
    settings.setInt("yarn.nodemanager.resource.cpu-vcores", 4);
    settings.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
    settings.setFloat(
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", 100f);
    MiniYARNCluster cluster = new MiniYARNCluster("headrace", 1, 1, 1);
    cluster.init(settings);
    cluster.start();
    if (!cluster.waitForNodeManagersToConnect(120_000)) {
      throw new IllegalStateException("the node did not connect");
    }
    try (OutputStream file = new FileOutputStream(arguments[0])) {
      cluster.getConfig().writeXml(file);
    }
    System.out.println("ready");
    System.out.flush();
    while (System.in.read() >= 0) {}
    cluster.stop();
  }
}
