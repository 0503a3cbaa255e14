/**
 * Sentences that a person reads before a yes, in the languages of the room: a right, and an act. English comes with the
 * question, from the catalogue of capabilities and from the operation; it stands where a language has no words. Without
 * imports: browsers load it, too. Pure.
 */

/** A right, as far as its sentence goes. */
export interface RightWords {
  readonly capability: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** The sentence in English. */
  readonly summary: string;
  /** It is the only host that the app may reach. */
  readonly sole?: boolean;
}

/** An act, as far as its sentence goes. */
export interface ActWords {
  readonly operation?: string;
  /** Params that the sentence names. */
  readonly names?: Readonly<Record<string, string>>;
  /** The sentence in English. */
  readonly act: string;
}

/** A right that no capability names, as far as its sentence goes. */
export interface ClaimWords {
  readonly kind: string;
  readonly name: string;
  /** The sentence in English. */
  readonly summary: string;
}

interface Vocabulary {
  /** By capability without a scope. */
  readonly rights: Readonly<Record<string, string>>;
  /** By capability with a scope; `{scope}` is its name, `{ports}` the ports of a host. */
  readonly scoped: Readonly<Record<string, string>>;
  readonly port: string;
  readonly ports: string;
  /** After a host that is the only one. */
  readonly sole: string;
  /** By kind of what no capability names. */
  readonly claims: Readonly<Record<string, string>>;
  /** By powerful service (docs/reference/services.md). */
  readonly services: Readonly<Record<string, string>>;
  /** By operation; a part in brackets is left out where its param is. */
  readonly acts: Readonly<Record<string, string>>;
}

const device = (title: string): Readonly<Record<'de' | 'fr' | 'deAll' | 'frAll', string>> => ({
  de: `Das ${title}-Gerät „{scope}“ benutzen`,
  deAll: `Alle ${title}-Geräte benutzen`,
  fr: `Utiliser l’appareil ${title} « {scope} »`,
  frAll: `Utiliser tous les appareils ${title}`,
});
const BUSES = (['spi', 'i2c', 'gpio', 'uart', 'pio', 'can'] as const).map(
  (area) => [`bridges.${area}`, device(area.toUpperCase())] as const,
);
const buses = (form: 'de' | 'fr' | 'deAll' | 'frAll') =>
  Object.fromEntries(BUSES.map(([capability, words]) => [capability, words[form]]));
const NODES = ['display', 'audio', 'sensors', 'bridges'] as const;
const nodes = (words: (root: string) => string) =>
  Object.fromEntries(NODES.map((root) => [`${root}.node`, words(root)]));

const de: Vocabulary = {
  port: 'Port {ports}',
  ports: 'Ports {ports}',
  sole: 'und mit keinem anderen Server',
  rights: {
    display: 'Alles auf der Anzeige tun',
    'display.surface': 'Eine eigene Oberfläche zeigen',
    'display.notify': 'Kurze Mitteilungen und Banner zeigen',
    'display.keep': 'Die Anzeige wach halten',
    'display.control': 'Die Anzeige dimmen und schalten',
    audio: 'Das Mikrofon hören, Ton abspielen und per Stimme gerufen werden',
    'audio.capture': 'Das Mikrofon hören',
    'audio.playback': 'Ton abspielen',
    'audio.intent': 'Per Stimme gerufen werden',
    sensors: 'Jeden Sensor lesen',
    'sensors.nfc': 'NFC-Tags lesen und beschreiben',
    bridges: 'Jeden Bus der IO-Bridge benutzen',
    ...buses('deAll'),
    ...nodes((root) => `Alle Gerätedateien von ${root} öffnen`),
    network: 'Das Netzwerk ohne Einschränkung benutzen',
    'network.outbound': 'Sich mit jedem Server verbinden',
    'network.listen': 'Verbindungen annehmen',
    'storage-scoped': 'Dateien in einem eigenen Ordner aufbewahren',
    functions: 'Funktionen aller Apps ohne Einschränkung benutzen',
    'functions.call': 'Funktionen jeder App aufrufen',
    events: 'Ereignisse aller Apps lesen und veröffentlichen',
    'events.read': 'Die Ereignisse jeder App lesen',
    'events.publish': 'Ereignisse mit jeder Priorität veröffentlichen, die Apps zusteht',
    'events.publish.high': 'Ereignisse mit hoher Priorität veröffentlichen',
    system: 'Das Gerät verwalten',
    'operations.anonymous': 'Funktionen für Aufrufer ohne Ausweis anbieten',
    'operations.sensitive': 'Eigene Vorgänge in eigenen Worten bestätigen lassen',
    'system.apps': 'Apps installieren, starten und beenden',
    'system.update': 'Das Gerät aktualisieren',
    'system.power': 'Das Gerät neu starten, ausschalten und zurücksetzen',
    'system.network': 'Netzwerke auflisten und ihnen beitreten',
    'system.backup': 'Den Zustand des Geräts sichern und zurückspielen',
    'updates.inhibit': 'Eine Aktualisierung des Geräts eine Weile aufhalten',
    'system.config': 'Einstellungen des Geräts ändern',
    'system.bridge': 'Die IO-Bridge ansehen und zurücksetzen',
    'system.plugins': 'Plugins verwalten',
    'system.logs': 'Protokolle und Ablehnungen lesen',
    'system.voice': 'Zuhören, stummschalten, Gespräche sehen und was das Gerät verließ',
    'system.display': 'Die Anzeige einrichten',
    'system.secrets': 'Geheimnisse des Geräts verwalten',
    'system.metrics': 'Zähler des Geräts lesen',
    'system.telemetry': 'Bestimmen, was das Gerät über sich selbst sendet',
    'system.outbox': 'Wartende Sendungen sofort absenden oder verwerfen',
    'system.log-levels': 'Ändern, was protokolliert wird',
    'system.events': 'Jedes Ereignis sehen',
  },
  scoped: {
    sensors: 'Den Sensor „{scope}“ lesen',
    ...buses('de'),
    ...nodes(() => 'Die Gerätedatei „{scope}“ öffnen'),
    'network.outbound': 'Sich mit {scope}{ports} verbinden',
    'functions.call': 'Funktionen der App {scope} aufrufen',
    'events.read': 'Die Ereignisse der App {scope} lesen',
  },
  claims: {
    level: 'Auf der Stufe {name} laufen, auf der es alles kann, was der Core kann',
    reads: 'Lesen: {name}',
    writes: 'Schreiben: {name}',
    service: 'Den Dienst {name} im Namen des Core benutzen',
    tap: 'An {name} für alle teilnehmen',
  },
  services: {
    apps: 'Apps und alle ihre Dateien steuern',
    audio: 'Das Mikrofon hören und Ton abspielen',
    'audio-device': 'Mikrofon und Lautsprecher statt des Core bedienen',
    bridge: 'Die IO-Bridge steuern',
    'bridge-port': 'Statt des Core mit der IO-Bridge sprechen',
    can: 'Jeden CAN-Bus benutzen',
    config: 'Einstellungen des Geräts und der Apps ändern',
    display: 'Über allem zeichnen und Berührungen darauf sehen',
    'echo-canceller': 'Das Mikrofon und alles Gespielte hören',
    endpoints: 'Alle Endpunkte der IO-Bridge benutzen',
    functions: 'Funktionen von Apps im eigenen Namen aufrufen',
    gpio: 'Jede GPIO-Leitung benutzen',
    i2c: 'Jeden I2C-Bus benutzen',
    inputs: 'Berührungen und Tasten senden, als täte es ein Mensch',
    intents: 'Auf Sätze antworten, die Menschen sagen',
    network: 'Netzwerken beitreten',
    nfc: 'NFC-Tags lesen',
    notifications: 'Die Mitteilungen der Apps lesen',
    panel: 'Auf der ganzen Anzeige zeichnen, auch über Fragen',
    pio: 'Programme an Pins ausführen',
    prompts: 'Menschen fragen',
    renderers: 'Alles zeichnen, was gezeigt wird, auch Fragen',
    secrets: 'Eigene Geheimnisse aufbewahren',
    speech: 'Hören, was Menschen sagen, und zu ihnen sprechen',
    spi: 'Jeden SPI-Bus benutzen',
    timers: 'Timer steuern',
    uart: 'Jede serielle Leitung benutzen',
    voice: 'Mit der Stimme des Geräts zu Menschen sprechen',
    'wall-time': 'Die Zeitzone setzen',
  },
  acts: {
    'apps.install': 'Eine App installieren',
    'apps.update': 'Die App {id} aktualisieren',
    'apps.rollback': 'Die App {id} auf die vorige Version zurücksetzen',
    'apps.remove': 'Die App {id} entfernen',
    'mcp.add': 'Den Sprachmodell-Client {name} Funktionen von Apps aufrufen[ und die Sensoren {sensors} lesen] lassen',
    'apps.grant': 'Der App {id} ein Recht gewähren',
    'apps.try': 'Eine App ohne Signatur ausführen',
    'apps.forget': 'Die Probe der App {id} beenden',
    'plugins.install': 'Ein Plugin installieren',
    'plugins.remove': 'Das Plugin {id} entfernen',
    'plugins.rollback': 'Das Plugin {id} auf die vorige Version zurücksetzen',
    'prompts.answer': 'Erlauben, wonach gefragt wird',
    'sessions.code': 'Einen weiteren Browser als {role} einlassen',
    'sessions.stay': 'Den Browser {name} angemeldet lassen',
    'telemetry.consent': 'Das Gerät über sich selbst senden lassen: {level}',
    'update.install': 'Das Systemabbild {source} installieren',
    'update.apply': 'Die Aktualisierung installieren und neu starten',
    'update.rollback': 'Zum vorigen Systemabbild zurückkehren und neu starten',
    'update.hold': 'Aktualisierungen[ für {hours} Stunden] zurückhalten[, Gefundenes verwerfen: {discard}]',
    'system.restart': 'Den Core neu starten[, abgesicherter Modus: {safeMode}]',
    'system.reboot': 'Das Gerät neu starten[, abgesicherter Modus: {safeMode}]',
    'system.powerOff': 'Das Gerät ausschalten[, abgesicherter Modus: {safeMode}]',
    'system.reset': 'Das Gerät zurücksetzen: Alles, was Menschen und Apps darauf hinterließen, wird entfernt',
    'system.backup': 'Alles kopieren, was auf dem Gerät aufbewahrt wird',
    'system.restore': 'Alles, was auf dem Gerät aufbewahrt wird, durch eine Sicherung ersetzen',
    'network.join': 'Dem Netzwerk {ssid} beitreten',
    'network.forget': 'Das Netzwerk {ssid} vergessen',
    'secrets.set': 'Das Geheimnis {name} setzen',
    'secrets.delete': 'Das Geheimnis {name} löschen',
    'secrets.rotate': 'Alle Geheimnisse neu versiegeln',
  },
};

const fr: Vocabulary = {
  port: 'port {ports}',
  ports: 'ports {ports}',
  sole: 'et à aucun autre serveur',
  rights: {
    display: 'Tout faire sur l’écran',
    'display.surface': 'Afficher sa propre vue',
    'display.notify': 'Afficher des messages et des bandeaux',
    'display.keep': 'Garder l’écran allumé',
    'display.control': 'Régler et éteindre l’écran',
    audio: 'Écouter le micro, jouer du son et être appelée par la voix',
    'audio.capture': 'Écouter le micro',
    'audio.playback': 'Jouer du son',
    'audio.intent': 'Être appelée par la voix',
    sensors: 'Lire tous les capteurs',
    'sensors.nfc': 'Lire et écrire des étiquettes NFC',
    bridges: 'Utiliser tous les bus du pont d’E/S',
    ...buses('frAll'),
    ...nodes((root) => `Ouvrir tous les fichiers de périphérique de ${root}`),
    network: 'Utiliser le réseau sans restriction',
    'network.outbound': 'Se connecter à n’importe quel serveur',
    'network.listen': 'Accepter des connexions',
    'storage-scoped': 'Garder des fichiers dans son propre dossier',
    functions: 'Utiliser sans restriction les fonctions de toutes les applications',
    'functions.call': 'Appeler les fonctions de toutes les applications',
    events: 'Lire et publier les événements de toutes les applications',
    'events.read': 'Lire les événements de toutes les applications',
    'events.publish': 'Publier des événements à toute priorité permise aux applications',
    'events.publish.high': 'Publier des événements de priorité haute',
    system: 'Administrer l’appareil',
    'operations.anonymous': 'Offrir des opérations aux appelants sans identité',
    'operations.sensitive': 'Faire confirmer ses propres actes, dans ses mots',
    'system.apps': 'Installer, démarrer et arrêter des applications',
    'system.update': 'Mettre l’appareil à jour',
    'system.power': 'Redémarrer, éteindre et réinitialiser l’appareil',
    'system.network': 'Lister les réseaux et s’y connecter',
    'system.backup': 'Copier l’état de l’appareil et le rétablir',
    'updates.inhibit': 'Retarder un moment une mise à jour de l’appareil',
    'system.config': 'Modifier les réglages de l’appareil',
    'system.bridge': 'Consulter et réinitialiser le pont d’E/S',
    'system.plugins': 'Gérer les plugins',
    'system.logs': 'Lire les journaux et les refus',
    'system.voice': 'Écouter, couper le micro, voir les échanges et ce qui a quitté l’appareil',
    'system.display': 'Organiser l’écran',
    'system.secrets': 'Gérer les secrets de l’appareil',
    'system.metrics': 'Lire les compteurs de l’appareil',
    'system.telemetry': 'Décider de ce que l’appareil envoie sur lui-même',
    'system.outbox': 'Envoyer tout de suite ou jeter ce qui attend de partir',
    'system.log-levels': 'Changer ce qui est journalisé',
    'system.events': 'Voir tous les événements',
  },
  scoped: {
    sensors: 'Lire le capteur « {scope} »',
    ...buses('fr'),
    ...nodes(() => 'Ouvrir le fichier de périphérique « {scope} »'),
    'network.outbound': 'Se connecter à {scope}{ports}',
    'functions.call': 'Appeler les fonctions de l’application {scope}',
    'events.read': 'Lire les événements de l’application {scope}',
  },
  claims: {
    level: 'Fonctionner au niveau {name}, où il peut tout ce que peut le Core',
    reads: 'Lire {name}',
    writes: 'Écrire {name}',
    service: 'Utiliser le service {name} au nom du Core',
    tap: 'Participer à {name} pour tous',
  },
  services: {
    apps: 'Gérer les applications et tous leurs fichiers',
    audio: 'Écouter le micro et jouer du son',
    'audio-device': 'Prendre la place du Core au micro et au haut-parleur',
    bridge: 'Commander le pont d’E/S',
    'bridge-port': 'Parler au pont d’E/S à la place du Core',
    can: 'Utiliser tous les bus CAN',
    config: 'Modifier les réglages de l’appareil et des applications',
    display: 'Dessiner par-dessus tout et voir les touchers',
    'echo-canceller': 'Écouter le micro et tout ce qui est joué',
    endpoints: 'Utiliser tous les points d’accès du pont d’E/S',
    functions: 'Appeler en son propre nom les fonctions des applications',
    gpio: 'Utiliser toutes les lignes GPIO',
    i2c: 'Utiliser tous les bus I2C',
    inputs: 'Envoyer touchers et touches comme une personne',
    intents: 'Répondre aux phrases que l’on dit',
    network: 'Se connecter à des réseaux',
    nfc: 'Lire des étiquettes NFC',
    notifications: 'Lire les messages des applications',
    panel: 'Dessiner sur tout l’écran, même sur les questions',
    pio: 'Exécuter des programmes sur des broches',
    prompts: 'Poser des questions aux gens',
    renderers: 'Dessiner tout ce qui s’affiche, questions comprises',
    secrets: 'Garder ses propres secrets',
    speech: 'Entendre ce que l’on dit et parler',
    spi: 'Utiliser tous les bus SPI',
    timers: 'Gérer les minuteurs',
    uart: 'Utiliser toutes les lignes série',
    voice: 'Parler aux gens avec la voix de l’appareil',
    'wall-time': 'Régler le fuseau horaire',
  },
  acts: {
    'apps.install': 'Installer une application',
    'apps.update': 'Mettre à jour l’application {id}',
    'apps.rollback': 'Revenir à la version précédente de l’application {id}',
    'apps.remove': 'Supprimer l’application {id}',
    'mcp.add':
      'Laisser le client de modèle de langage {name} appeler des fonctions d’applications[ et lire les capteurs {sensors}]',
    'apps.grant': 'Accorder un droit à l’application {id}',
    'apps.try': 'Exécuter une application sans signature',
    'apps.forget': 'Mettre fin à l’essai de l’application {id}',
    'plugins.install': 'Installer un plugin',
    'plugins.remove': 'Supprimer le plugin {id}',
    'plugins.rollback': 'Revenir à la version précédente du plugin {id}',
    'prompts.answer': 'Autoriser ce qui est demandé',
    'sessions.code': 'Laisser entrer un autre navigateur comme {role}',
    'sessions.stay': 'Garder le navigateur {name} connecté',
    'telemetry.consent': 'Laisser l’appareil envoyer des données sur lui-même : {level}',
    'update.install': 'Installer l’image système {source}',
    'update.apply': 'Installer la mise à jour et redémarrer',
    'update.rollback': 'Revenir à l’image système précédente et redémarrer',
    'update.hold': 'Retenir les mises à jour[ pendant {hours} heures][, jeter ce qui a été trouvé : {discard}]',
    'system.restart': 'Redémarrer le Core[, mode sans échec : {safeMode}]',
    'system.reboot': 'Redémarrer l’appareil[, mode sans échec : {safeMode}]',
    'system.powerOff': 'Éteindre l’appareil[, mode sans échec : {safeMode}]',
    'system.reset':
      'Réinitialiser l’appareil : tout ce que les personnes et les applications y ont laissé est supprimé',
    'system.backup': 'Copier tout ce qui est gardé sur l’appareil',
    'system.restore': 'Remplacer par une sauvegarde tout ce qui est gardé sur l’appareil',
    'network.join': 'Se connecter au réseau {ssid}',
    'network.forget': 'Oublier le réseau {ssid}',
    'secrets.set': 'Définir le secret {name}',
    'secrets.delete': 'Supprimer le secret {name}',
    'secrets.rotate': 'Sceller à nouveau tous les secrets',
  },
};

const VOCABULARIES: Readonly<Record<string, Vocabulary>> = { de, fr };
const vocabularyOf = (language: string): Vocabulary | undefined =>
  VOCABULARIES[language.toLowerCase().split(/[-_]/)[0] ?? ''];

/** The right as a sentence. `language`: a tag, `de-AT`. */
export function rightIn(language: string, { capability, params, summary, sole }: RightWords): string {
  const words = vocabularyOf(language);
  const at = capability.indexOf(':');
  const own = at < 0 ? memberOf(words?.rights, capability) : undefined;
  if (!words || own !== undefined) return capital(own ?? summary);
  // A sensor is named as a member of its family, too.
  const [id = '', scope] = at < 0 ? capability.split('.') : [capability.slice(0, at), capability.slice(at + 1)];
  const sentence = at < 0 && id !== 'sensors' ? undefined : memberOf(words.scoped, id);
  if (sentence === undefined || scope === undefined) return capital(summary);
  const ports = [params?.ports ?? []].flat();
  const template = ports.length === 1 ? words.port : words.ports;
  const named = ports.length === 0 ? '' : `, ${template.replace('{ports}', ports.join(', '))}`;
  const full = sentence.replace(/\{(scope|ports)\}/g, (_, name: string) => (name === 'scope' ? scope : named));
  return sole === true ? `${full} ${words.sole}` : full;
}

/** The act as a sentence. */
export function actIn(language: string, { operation = '', names = {}, act }: ActWords): string {
  const template = memberOf(vocabularyOf(language)?.acts, operation);
  return capital(template === undefined ? act : filled(template, (name) => memberOf(names, name)));
}

/** A right that no capability names, as a sentence. */
export function claimIn(language: string, { kind, name, summary }: ClaimWords): string {
  const words = vocabularyOf(language);
  const service = kind === 'service' ? memberOf(words?.services, name) : undefined;
  if (service !== undefined) return service;
  const template = memberOf(words?.claims, kind);
  return capital(template === undefined ? summary : filled(template, () => name));
}

/** A template with its values: `{name}`; a part in brackets is left out where its value is. */
export function filled(template: string, value: (name: string) => string | undefined): string {
  return template
    .replace(/\[([^\]{]*\{(\w+)\}[^\]]*)\]/g, (_, part: string, name: string) =>
      value(name) === undefined ? '' : part,
    )
    .replace(/\{(\w+)\}/g, (_, name: string) => value(name) ?? '');
}

function capital(text: string): string {
  return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}

function memberOf(texts: Readonly<Record<string, string>> | undefined, name: string): string | undefined {
  return texts && Object.hasOwn(texts, name) ? texts[name] : undefined;
}
