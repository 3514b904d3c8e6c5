<?php

// A Laravel app without Composer, for the files of docs/receiving/laravel.md. Debian's packages bring the framework.
require '/usr/share/php/Illuminate/autoload.php';

spl_autoload_register(function (string $class): void {
    $path = dirname(__DIR__) . '/app/' . str_replace('\\', '/', preg_replace('/^App\\\\/', '', $class)) . '.php';
    if (is_file($path)) {
        require $path;
    }
});

$app = new Illuminate\Foundation\Application(dirname(__DIR__));

$app->singleton(Illuminate\Contracts\Debug\ExceptionHandler::class, Illuminate\Foundation\Exceptions\Handler::class);

// The middleware that a new Laravel app has.
$app->singleton(Illuminate\Contracts\Http\Kernel::class, function ($app) {
    return new class ($app, $app['router']) extends Illuminate\Foundation\Http\Kernel {
        protected $middleware = [
            Illuminate\Foundation\Http\Middleware\ValidatePostSize::class,
            Illuminate\Foundation\Http\Middleware\TrimStrings::class,
            Illuminate\Foundation\Http\Middleware\ConvertEmptyStringsToNull::class,
        ];

        protected $middlewareGroups = ['api' => [Illuminate\Routing\Middleware\SubstituteBindings::class]];
    };
});

$app->singleton(Illuminate\Contracts\Console\Kernel::class, function ($app) {
    return new class ($app, $app['events']) extends Illuminate\Foundation\Console\Kernel {
        protected $commands = [App\Console\Commands\ProcessInbox::class];
    };
});

$app->booted(function ($app) {
    $app['router']->prefix('api')->middleware('api')->group($app->basePath('routes/api.php'));
});

return $app;
