import Foundation
import Glibc
import TransferModel

/// Reads settings from options or, where those are absent, from the environment.
///
/// It collects all problems with them.
struct SettingsReader {
    let environment: [String: String]
    private(set) var problems: [String] = []

    init(environment: [String: String]) { self.environment = environment }

    /// Records a problem with settings that do not fit each other.
    mutating func refuse(_ problem: String) { problems.append(problem) }

    /// Reads a text; an empty variable counts as absent.
    func text(_ option: String?, _ variable: String) -> String? {
        option ?? environment[variable].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the name under which a setting was given: that of the option, if it was.
    private func name(_ variable: String, isOption: Bool) -> String {
        guard isOption else { return variable }
        let words = variable.split(separator: "_").map { $0.lowercased() }
        return "--" + words.drop { $0 == "transferd" }.joined(separator: "-")
    }

    mutating func number<Value: FixedWidthInteger>(
        _ option: Value?,
        _ variable: String,
        in range: ClosedRange<Value>,
        default value: Value
    ) -> Value {
        if let option, range.contains(option) { return option }
        guard let text = option.map({ "\($0)" }) ?? text(nil, variable) else { return value }
        if option == nil, let number = Value(text), range.contains(number) { return number }
        let name = name(variable, isOption: option != nil)
        problems.append(
            "\(name): \(text) is not a number from \(range.lowerBound) to \(range.upperBound)"
        )
        return value
    }

    mutating func days(
        _ option: Int?,
        _ variable: String,
        in range: ClosedRange<Int>,
        default value: Int
    ) -> Duration {
        .seconds(number(option, variable, in: range, default: value) * 24 * 3600)
    }

    mutating func word<Value: RawRepresentable<String> & CaseIterable>(
        _ option: String?,
        _ variable: String,
        default value: Value
    ) -> Value {
        guard let text = text(option, variable) else { return value }
        if let word = Value(rawValue: text) { return word }
        let words = Value.allCases.map(\.rawValue).joined(separator: ", ")
        let name = name(variable, isOption: option != nil)
        problems.append("\(name): \(text) is none of \(words)")
        return value
    }

    /// The words of a switch.
    private enum Switch: String, CaseIterable { case on, off }

    /// Reads a switch, `on` or `off`; it is on by default.
    mutating func isOn(_ option: String?, _ variable: String) -> Bool {
        word(option, variable, default: Switch.on) == .on
    }

    /// Reads several words, separated by commas.
    mutating func words<Value: RawRepresentable<String> & CaseIterable & Hashable>(
        _ option: String?,
        _ variable: String,
        default values: Set<Value>
    ) -> Set<Value> {
        guard let list = text(option, variable) else { return values }
        let texts = list.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        let known = Value.allCases.map(\.rawValue).joined(separator: ", ")
        let name = name(variable, isOption: option != nil)
        if texts.isEmpty { problems.append("\(name): names none of \(known)") }
        return Set(
            texts.compactMap { text in
                let word = Value(rawValue: text)
                if word == nil { problems.append("\(name): \(text) is none of \(known)") }
                return word
            }
        )
    }

    /// Reads hours of the week; none if the setting is absent.
    mutating func hours(_ option: String?, _ variable: String) -> WeeklyHours {
        guard let text = text(option, variable) else { return WeeklyHours() }
        guard let hours = WeeklyHours(text) else {
            let name = name(variable, isOption: option != nil)
            problems.append(
                "\(name): \(text) is not hours of the week such as mon-fri 22:00-06:00, sat-sun"
            )
            return WeeklyHours()
        }
        return hours
    }

    /// Reads an http or https address that paths are appended to, without a slash at its end.
    mutating func baseURL(_ option: String?, _ variable: String) -> String? {
        let rule = "a URL such as https://transfers.example, without user name, query and fragment"
        guard let text = webURL(option, variable, rule, where: { $0.query == nil }) else {
            return nil
        }
        return String(text.reversed().drop { $0 == "/" }.reversed())
    }

    /// Reads an http or https address that is asked as it is.
    mutating func webURL(_ option: String?, _ variable: String) -> String? {
        let rule = "a URL such as https://example.org/?a=1, without user name and fragment"
        return webURL(option, variable, rule) { _ in true }
    }

    private mutating func webURL(
        _ option: String?,
        _ variable: String,
        _ rule: String,
        where isRight: (URLComponents) -> Bool
    ) -> String? {
        guard let text = text(option, variable) else { return nil }
        if let url = URLComponents(string: text),
            ["http", "https"].contains(url.scheme?.lowercased()), url.host?.isEmpty == false,
            url.user == nil, url.password == nil, url.fragment == nil, isRight(url)
        {
            return text
        }
        problems.append("\(name(variable, isOption: option != nil)): \(text) is not \(rule)")
        return nil
    }

    /// Reads what was given as options and in the variable, there separated by commas.
    func list(_ options: [String], _ variable: String) -> [String] {
        options
            + (text(nil, variable) ?? "").split(separator: ",")
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// Reads networks.
    mutating func networks(
        _ options: [String],
        _ option: String,
        _ variable: String
    ) -> [EgressPolicy.Network] {
        var networks: [EgressPolicy.Network] = []
        let named = options.map { ($0, option) } + list([], variable).map { ($0, variable) }
        for (text, name) in named {
            if let network = network(text, name) { networks.append(network) }
        }
        return networks
    }

    private mutating func network(_ text: String, _ name: String) -> EgressPolicy.Network? {
        if let network = EgressPolicy.Network(text) { return network }
        problems.append("\(name): \(text) is not a network such as 10.0.0.0/8 or fd00::/8")
        return nil
    }
}
