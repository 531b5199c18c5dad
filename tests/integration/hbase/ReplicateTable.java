import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.replication.ReplicationPeerConfig;

/** add_peer and enable_table_replication of the hbase shell; end of input: remove_peer. */
public class ReplicateTable {
    public static void main(String[] arguments) throws Exception {
        try (Connection connection =
                        ConnectionFactory.createConnection(HBaseConfiguration.create());
                Admin admin = connection.getAdmin()) {
            admin.addReplicationPeer("1",
                    ReplicationPeerConfig.newBuilder().setClusterKey(arguments[0]).build());
            try {
                admin.enableTableReplication(TableName.valueOf(arguments[1]));
                System.out.println("replicates");
                System.in.read();
            } finally {
                admin.removeReplicationPeer("1");
            }
        }
    }
}
