/**
 * A program of its own: makes an engine and lets it work a little. A model that sherpa-onnx cannot use ends the process that tries it, and says why on
 * stderr only; here that costs nothing but the answer. Its argument is a Shape, and text for voices.
 */
import type { Shape } from './shapes.ts';

const RATE = 16_000;
const { make, config } = JSON.parse(process.argv[2] ?? '{}') as Shape;
const { default: sherpa } = await import('sherpa-onnx-node');
const wave = { samples: new Float32Array(RATE), sampleRate: RATE };
switch (make) {
  case 'Vad': {
    const vad = new sherpa.Vad(config, 2);
    vad.acceptWaveform(wave.samples);
    vad.isDetected();
    break;
  }
  case 'OfflineRecognizer': {
    const recognizer = await sherpa.OfflineRecognizer.createAsync(config);
    const stream = recognizer.createStream();
    stream.acceptWaveform(wave);
    await recognizer.decodeAsync(stream);
    recognizer.getResult(stream);
    break;
  }
  case 'OnlineRecognizer':
  case 'KeywordSpotter': {
    const engine = new sherpa[make](config);
    const stream = engine.createStream();
    stream.acceptWaveform(wave);
    stream.inputFinished();
    while (engine.isReady(stream)) engine.decode(stream);
    engine.getResult(stream);
    break;
  }
  case 'OfflineTts': {
    const tts = await sherpa.OfflineTts.createAsync(config);
    await tts.generateAsync({ text: 'one', sid: 0, speed: 1, enableExternalBuffer: false });
    break;
  }
}
process.stdout.write('done\n');
