import ArgumentParser
import Foundation

/// The options of every command that uses the database.
struct DatabaseOptions: ParsableArguments {
    @Option(
        help: """
            PostgreSQL as URL or keyword string; without it a private cluster in the data \
            directory is used. [DATABASE_URL]
            """
    )
    var databaseURL: String?

    @Option(
        help: """
            What that URL leads to: none, PostgreSQL itself or as good as that, or transaction, a \
            pooler that gives out sessions by the transaction, as pgbouncer does; none. \
            [TRANSFERD_POOLER]
            """
    )
    var pooler: String?

    @Option(
        name: .customLong("database-tls"),
        help: """
            verified, or as-given to accept a server on another machine that need not prove its name, \
            or no encryption, as the URL's sslmode says; verified. [TRANSFERD_DATABASE_TLS]
            """
    )
    var databaseTLS: String?

    @Option(
        help: """
            Where the private cluster, the API key and the containers are; /var/lib/transferd for \
            root, else transferd in $XDG_STATE_HOME, by default ~/.local/state/transferd. \
            [TRANSFERD_DATA_DIRECTORY]
            """
    )
    var dataDirectory: String?

    @Option(
        help: """
            The directory with migrations/, page/ and openapi.yaml; by default ../share/transferd \
            beside the program or else the working directory. [TRANSFERD_RESOURCES]
            """
    )
    var resources: String?
}
