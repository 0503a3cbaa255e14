/**
 * The codes of `/health` and of its warnings that are no errors of the table in errors.ts: code -> meaning. A plugin
 * from outside names its own codes `plugin.<id>.<CODE>`. A test compares the table with the sources, with
 * docs/reference/errors.md and with docs/guides/troubleshooting.md.
 */
export const HEALTH_CODES = {
  // ---- the Core and its plugins ----
  STALL: 'a callback of a plugin kept the event loop longer than its budget within the last minute',
  RESTART_NEEDED: 'the code of a plugin in the process of the Core changed on disk, and the former code still runs',
  PLUGINS_DISABLED: 'the operator has switched plugins of the SKU off',
  UNSIGNED_TRUSTED:
    'unsigned plugins may run at a level at which they can do everything that the Core can, or have powerful services',
  LAST_START: 'the last start did not end well',
  // ---- identity and addresses ----
  AUTH_OPEN: 'each caller without a token is the operator',
  PEER_CREDENTIALS_UNAVAILABLE: 'the system does not tell which process is behind a Unix socket',
  TCP_UNAVAILABLE: 'an address of the HTTP server is in use or not permitted',
  // ---- apps ----
  APP_TRIED: 'an app runs without a signature, because its author tries it',
  APPS_INSECURE: 'apps start although a wall that they are promised is missing',
  WALLS_MISSING: 'the system lacks a part of the sandbox of apps and of plugins in a process',
  ORPHANS_UNKNOWN: 'a process that leaves its app cannot be told from the operator',
  FUNCTIONS_LEFT_OUT: 'functions that apps offer cannot be called',
  UTTERANCES_LEFT_OUT: 'functions of apps cannot be called by voice',
  WORDS_LEFT_OUT: 'sentences need words that the speech engine has no pronunciation of',
  PHRASES_LEFT_OUT: 'the wake engine has no pronunciation of a phrase',
  // ---- settings, secrets, flags ----
  CONFIG_REPAIRED: 'a file of settings was damaged and was repaired',
  SETTING_INVALID: 'a setting of the panel has a value that is not used',
  SETTING_OLD: 'a setting has an older form that is still read',
  FLAG_LEFT_OUT: 'a feature flag is declared wrongly or twice',
  VAULT_KEY_FILE: 'the key of the secrets lies on the same disk as the secrets',
  VAULT_KEY_MISSING: 'the key of the secrets is not there',
  VAULT_KEY_WRONG: 'the key does not fit the secrets',
  VAULT_KEY_REFUSED: 'the file of the key may not be read, or others may read it',
  VAULT_UNREADABLE: 'the disk does not give the secrets',
  VAULT_REFUSED: 'the file of the secrets is none that the Core takes',
  VAULT_DAMAGED: 'the file of the secrets is damaged',
  SECRETS_VOLATILE: 'secrets are kept in memory only',
  SECRETS_OWED: 'secrets of a removed app could not be deleted yet',
  SECRETS_FORGOTTEN: 'old secrets are no longer removed from the log',
  OUTPUT_WITHHELD: 'output of apps was left out of the log, because it could not be searched for secrets',
  KEYRING_DENIED: 'the kernel refuses the keyring that keeps the secrets',
  KEYRING_SHARED: 'other processes of the same user could read the keyring of the secrets',
  KEYRING_FOREIGN: 'the keyring has keys of another program with names of secrets',
  // ---- log, metrics, telemetry ----
  LOG_UNWRITABLE: 'the file of the log cannot be written',
  LOG_LINES_DROPPED: 'a plugin logs more than is kept',
  LOG_DISK_LOW: 'the disk has little space, so old files of the log were removed',
  JOURNAL_GONE: 'the journal of the system is not there, and the log goes into its file',
  JOURNAL_FULL: 'the journal of the system has no room, and lines are lost',
  METRICS_LEFT_OUT: 'a plugin failed to give its metrics',
  METRICS_LIMITED: 'a plugin has more metrics than are kept',
  TELEMETRY_UNSENT: 'telemetry could not be sent',
  TELEMETRY_REJECTED: 'the collector of telemetry refused a part',
  // ---- disk and slots ----
  BOOT_SAFE_MODE: 'the device runs in safe mode',
  BOOT_FELL_BACK: 'the boot loader took the other slot',
  BOOT_REPAIRED: 'damaged files of a slot were put right from the other slot',
  BOOT_PROBLEM: 'the boot loader met a fault',
  STORAGE_SLOW: 'the disk answers slowly',
  STATE_REMAINS: 'files of a reset or a restore could not be removed',
  SLOTS_INLINE: 'the Core writes its own slots, without a helper of root',
  // ---- hardware ----
  LINK_DOWN: 'the bridge does not answer',
  LINK_HELLO: 'the bridge answers, and its table of endpoints is being read',
  LINK_DEGRADED: 'the link to the bridge loses packets',
  NO_ENDPOINT: 'the bridge has no endpoint for a handle of the SKU',
  ENDPOINT_NAME: 'the bridge has an endpoint whose name is not valid or is used twice',
  BUS_STUCK: 'a component holds a bus down',
  BUS_OFF: 'the CAN controller has left its bus after too many errors',
  READER_FAILED: 'an NFC reader does not answer as its driver expects',
  DATA_READY_POLLED: 'the bridge is asked with pauses, because its line for new data cannot be watched',
  // ---- panel ----
  RENDERER_PROBLEM: 'a renderer lacks a font or another part',
  RENDERER_MISSING: 'a renderer cannot be loaded',
  RENDERER_SECOND: 'another renderer than the first one of the SKU paints',
  GLYPHS_MISSING: 'a text was shown with characters that no font has',
  INPUT_BAD: 'an input device sent events without a meaning',
  INPUT_DROPPED: 'an input device sent more events than are used',
  INPUT_LOST: 'events of keys were left out, because too many waited',
  INPUT_REFUSED: 'injected touches were aimed at a question or at the system',
  // ---- voice ----
  ENGINES_ABSENT: 'the order of speech engines names engines that are not there',
  VOICE_UNSENT: 'a sentence could not be sent to the cloud',
} as const satisfies Record<string, string>;
