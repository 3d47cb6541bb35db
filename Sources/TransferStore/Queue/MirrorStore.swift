import Postgres
package import TransferModel

/// The places of downloads with mirrors among their URLs.
package struct MirrorStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension MirrorStore {
    /// Returns the places of claimed tasks; that of a task which has never left its own URL is
    /// absent.
    package func places(of claims: [TaskClaim]) async throws(StoreError) -> [TaskID: MirrorPlace] {
        let rows = try await database.run(
            """
            SELECT task_id, rank, given_up, is_offline, coalesce(ceil(extract(
                epoch FROM rests_until - clock_timestamp()) * 1000), 0)::bigint AS rest_ms
            FROM task_mirror WHERE task_id = ANY (\(claims.map(\.task.uuid)))
            """
        )
        var places: [TaskID: MirrorPlace] = [:]
        for row in rows { places[try row.task("task_id")] = try MirrorPlace(row) }
        return places
    }
}

extension MirrorPlace {
    fileprivate init(_ row: StoredRow) throws(StoreError) {
        let givenUp = try row.decode("given_up", as: Int16.self)
        self.init(
            rank: Int(try row.decode("rank", as: Int16.self)),
            givenUp: Set((0...TransferOptions.mirrorsMax).filter { givenUp >> Int16($0) & 1 == 1 })
        )
        isOffline = try row.decode("is_offline")
        rest = max(.zero, try row.milliseconds("rest_ms"))
    }
}
