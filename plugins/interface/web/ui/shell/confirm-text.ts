import { catalogue } from '../core/text.ts';

export const words = catalogue({
  en: {
    title: 'Confirm',
    onPanel: 'Confirm it on the panel of the device. This page goes on by itself.',
    orCode: 'Or type the code that this command prints on the device:',
    byCode: 'Type the code that this command prints on the device:',
    code: 'Code',
    cancel: 'Cancel',
    confirm: 'Confirm',
    refused: 'It was refused on the device. Nothing was changed.',
    gone: 'Nobody confirmed it in time. Nothing was changed.',
    understood: 'Understood',
  },
  de: {
    title: 'Bestätigen',
    onPanel: 'Bestätigen Sie es auf der Anzeige des Geräts. Diese Seite fährt dann von selbst fort.',
    orCode: 'Oder geben Sie den Code ein, den dieser Befehl auf dem Gerät ausgibt:',
    byCode: 'Geben Sie den Code ein, den dieser Befehl auf dem Gerät ausgibt:',
    code: 'Code',
    cancel: 'Abbrechen',
    confirm: 'Bestätigen',
    refused: 'Es wurde am Gerät abgelehnt. Nichts wurde geändert.',
    gone: 'Niemand hat es rechtzeitig bestätigt. Nichts wurde geändert.',
    understood: 'Verstanden',
  },
  fr: {
    title: 'Confirmer',
    onPanel: 'Confirmez sur l’écran de l’appareil. Cette page continue ensuite d’elle-même.',
    orCode: 'Ou saisissez le code que cette commande affiche sur l’appareil :',
    byCode: 'Saisissez le code que cette commande affiche sur l’appareil :',
    code: 'Code',
    cancel: 'Annuler',
    confirm: 'Confirmer',
    refused: 'Refusé sur l’appareil. Rien n’a été modifié.',
    gone: 'Personne n’a confirmé à temps. Rien n’a été modifié.',
    understood: 'Compris',
  },
});

/** What each operation does, for who confirms it. What is not here is said in the words of the Core. */
const acts = catalogue({
  en: {
    'apps.install': 'Install the app {id} ({source}). Allowed with it: {grants}',
    'apps.update': 'Update the app {id}',
    'apps.rollback': 'Roll the app {id} back',
    'apps.remove': 'Remove the app {id}',
    'apps.grant': 'Grant {capability} to the app {id}',
    'apps.try': 'Run an app without a signature',
    'apps.forget': 'End the trial of the app {id}',
    'plugins.install': 'Install the plugin {source}',
    'plugins.remove': 'Remove the plugin {id}',
    'plugins.rollback': 'Roll the plugin {id} back',
    'prompts.answer': 'Allow what is asked: {allow}',
    'sessions.code': 'Let another browser in as {role}',
    'sessions.stay': 'Keep the browser {name} signed in',
  },
  de: {
    'apps.install': 'Die App {id} installieren ({source}). Dabei erlaubt: {grants}',
    'apps.update': 'Die App {id} aktualisieren',
    'apps.rollback': 'Die App {id} auf die vorige Version zurücksetzen',
    'apps.remove': 'Die App {id} entfernen',
    'apps.grant': 'Der App {id} {capability} gewähren',
    'apps.try': 'Eine App ohne Signatur ausführen',
    'apps.forget': 'Die Probe der App {id} beenden',
    'plugins.install': 'Das Plugin {source} installieren',
    'plugins.remove': 'Das Plugin {id} entfernen',
    'plugins.rollback': 'Das Plugin {id} auf die vorige Version zurücksetzen',
    'prompts.answer': 'Erlauben, wonach gefragt wird: {allow}',
    'sessions.code': 'Einen weiteren Browser als {role} einlassen',
    'sessions.stay': 'Den Browser {name} angemeldet lassen',
  },
  fr: {
    'apps.install': 'Installer l’application {id} ({source}). Autorisé avec elle : {grants}',
    'apps.update': 'Mettre à jour l’application {id}',
    'apps.rollback': 'Revenir à la version précédente de l’application {id}',
    'apps.remove': 'Supprimer l’application {id}',
    'apps.grant': 'Accorder {capability} à l’application {id}',
    'apps.try': 'Exécuter une application sans signature',
    'apps.forget': 'Mettre fin à l’essai de l’application {id}',
    'plugins.install': 'Installer le plugin {source}',
    'plugins.remove': 'Supprimer le plugin {id}',
    'plugins.rollback': 'Revenir à la version précédente du plugin {id}',
    'prompts.answer': 'Autoriser ce qui est demandé : {allow}',
    'sessions.code': 'Laisser entrer un autre navigateur comme {role}',
    'sessions.stay': 'Garder le navigateur {name} connecté',
  },
});

const KNOWN: ReadonlySet<string> = new Set([
  ...['apps.install', 'apps.update', 'apps.rollback', 'apps.remove', 'apps.grant', 'apps.try', 'apps.forget'],
  ...['plugins.install', 'plugins.remove', 'plugins.rollback', 'prompts.answer', 'sessions.code'],
  'sessions.stay',
]);

export const actWords = (operation: string, names: Readonly<Record<string, string>>): string | undefined =>
  KNOWN.has(operation) ? acts(operation as Parameters<typeof acts>[0], names) : undefined;
