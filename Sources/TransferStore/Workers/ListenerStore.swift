import Foundation
import Postgres

/// Where the instances of the service listen.
package struct ListenerStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension ListenerStore {
    /// The time after which an instance that has not announced itself again counts as gone.
    package static let silenceMax: Duration = .seconds(60)
    /// The most addresses of one instance that are kept.
    private static let addressesMax = 256

    /// Says that an instance listens, and returns where others do.
    package func announce(_ listener: Listener) async throws(StoreError) -> [Listener] {
        let rows = try await database.run([
            """
            DELETE FROM listener WHERE seen_at
                < clock_timestamp() - \(Self.silenceMax.milliseconds) * interval '1 ms'
            """,
            """
            INSERT INTO listener (id, machine, addresses, port, seen_at)
            VALUES (\(listener.id), \(listener.machine),
                \(Array(listener.addresses.prefix(Self.addressesMax))), \(Int32(listener.port)),
                clock_timestamp())
            ON CONFLICT (id) DO UPDATE SET addresses = excluded.addresses, seen_at = excluded.seen_at
            """,
            """
            SELECT id, machine, addresses, port FROM listener WHERE id <> \(listener.id)
            """,
        ])
        return try rows[2].map { row throws(StoreError) in
            Listener(
                id: try row.decode("id"),
                machine: try row.decode("machine"),
                addresses: try row.decode("addresses"),
                port: UInt16(clamping: try row.decode("port", as: Int32.self))
            )
        }
    }
}
