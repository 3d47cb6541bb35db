/// How secrets are stored.
enum SecretsMode: String, CaseIterable {
    /// Sealed, with a key that has to be there.
    case sealed
    /// As they are if there is no key; credentials are then refused.
    case plain
}
