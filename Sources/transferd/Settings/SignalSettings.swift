import Postgres

/// How an instance learns what other instances did.
struct SignalSettings: Sendable {
    /// Whether it tells other instances at once what it did, and hears them.
    let listens: Bool
    /// Past a pooler; nil for the database's own; may hold a password and is never logged.
    let databaseURL: String?

    init(
        _ options: ServiceOptions,
        _ database: DatabaseLocation,
        _ reader: inout SettingsReader
    ) {
        listens = reader.isOn(options.listen, "TRANSFERD_LISTEN")
        databaseURL = reader.text(options.listenDatabaseURL, "TRANSFERD_LISTEN_DATABASE_URL")
        if let databaseURL, !ConnectionConfiguration(url: databaseURL).isReadable {
            reader.refuse(
                "TRANSFERD_LISTEN_DATABASE_URL: is neither a postgres:// URL nor keywords as libpq "
                    + "has them"
            )
        }
        if let databaseURL {
            DatabaseLocation.checkEncryption(
                of: databaseURL,
                "TRANSFERD_LISTEN_DATABASE_URL",
                database.tls,
                &reader
            )
        }
        if database.pooler == .transaction, listens, databaseURL == nil {
            reader.refuse(
                "TRANSFERD_LISTEN: a pooler that shares connections hears nothing, so that it takes "
                    + "TRANSFERD_LISTEN_DATABASE_URL, past the pooler, or off"
            )
        }
    }
}
