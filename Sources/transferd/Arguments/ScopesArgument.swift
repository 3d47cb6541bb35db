import ArgumentParser
import TransferModel

/// The scopes of a key as an operator writes them: names, separated by commas.
struct ScopesArgument: ExpressibleByArgument {
    let scopes: Set<KeyScope>

    init?(argument: String) {
        let names = argument.split(separator: ",", omittingEmptySubsequences: false)
        scopes = Set(names.compactMap { KeyScope(rawValue: String($0)) })
        guard scopes.count == names.count else { return nil }
    }
}
